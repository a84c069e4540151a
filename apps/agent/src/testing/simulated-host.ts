import { X509Certificate } from 'node:crypto';
import path from 'node:path';
import { orderFolder } from '@certwright/agent-contract';
import type { CommandResult } from '../commands/run-command';
import type { Point, Service, Settings } from '../configuration/settings';
import { formatFiles } from '../formats/format-files';
import { Installer } from '../installation/installer';
import { Placing } from '../installation/placing';
import type { ProbeResult, ProbeTarget } from '../probes/probe';
import { OrderStore } from '../state/order-store';
import { LossyDisk } from './lossy-disk';
import { type Issued, TestCa, type TestKey, testKey } from './test-ca';

export const state = '/var/lib/certwright-agent';

/** How a server takes a new certificate. */
export type Behaviour =
  | 'good'
  | 'test_fails'
  | 'reload_fails'
  /** The reload returns 0 and changes nothing. */
  | 'reload_lies'
  /** The reload returns 0 and the server has ended, as Apache with a pair that it does not accept. */
  | 'dies';

/** Certificates with their keys, shared by specs: they are made once. */
export class Certificates {
  readonly ca: TestCa;
  private readonly keys = new Map<string, TestKey>();

  constructor(now: Date) {
    this.ca = new TestCa(now);
  }

  /** The same label gets the same certificate and key. */
  readonly issued = new Map<string, { issued: Issued; key: TestKey }>();

  of(label: string, dnsName = 'www.example.com', options: { days?: number; notBefore?: Date } = {}) {
    const known = this.issued.get(label);
    if (known !== undefined) return known;
    const key = this.keys.get(label) ?? testKey();
    const made = { issued: this.ca.issue(key.spki, [dnsName], options), key };
    this.issued.set(label, made);
    return made;
  }
}

export interface Configured {
  readonly services?: readonly (Partial<Service> & { readonly name: string })[];
  readonly points: readonly (Partial<Point> & { readonly order: string })[];
}

/** A host in memory: its disk, its servers, its clock. A restart keeps the disk and the servers. */
export class SimulatedHost {
  nowMs: number;
  /** Of the host's clock. */
  clockErrorMs = 0;
  readonly settings: Settings;
  /** Per service. */
  readonly behaviour = new Map<string, Behaviour>();
  /** Certificates for which a behaviour applies; empty: all. */
  readonly appliesTo = new Set<string>();
  /** Service → order → SHA-256 of what it presents. */
  readonly served = new Map<string, Map<string, string>>();
  readonly commands: { readonly command: string; readonly atMs: number }[] = [];
  readonly changed: string[] = [];
  readonly logged: string[] = [];
  private stop = new AbortController();
  installer: Installer;

  constructor(
    readonly disk: LossyDisk,
    readonly certificates: Certificates,
    { services = [], points }: Configured,
    now: Date,
  ) {
    this.nowMs = now.getTime();
    disk.makeFolders('/var/lib');
    this.settings = {
      server: new URL('https://certs.example.net'),
      names: [{ kind: 'below', parent: 'example.com' }],
      caFile: null,
      proxy: null,
      state,
      keys: { rsaBits: 2048, curve: 'P-256', csrCommand: null },
      services: new Map(services.map((service) => [service.name, completeService(service)])),
      points: points.map(completePoint),
    };
    this.installer = this.newInstaller();
  }

  /** The process and perhaps the machine have stopped; the agent starts again. */
  restart(how: 'killed' | 'power_lost', random?: () => number): void {
    this.stop.abort();
    this.stop = new AbortController();
    this.disk.restart(how, random);
    this.installer = this.newInstaller();
    this.installer.journals.restore();
  }

  /** The certificate of a label becomes the wanted one, as after a download. */
  want(order: string, label: string, { mayInstall = true } = {}): void {
    const { issued, key } = this.certificates.of(label, order);
    const orders = new OrderStore(this.disk, state);
    if (!orders.hasVersion(order, issued.sha256)) {
      const material = {
        leaf: issued.der,
        chain: issued.message.chain.map((each) => Buffer.from(each, 'base64')),
        root: Buffer.from(issued.message.root, 'base64'),
        pkcs8: key.pkcs8,
      };
      orders.addVersion(order, issued.sha256, formatFiles(material));
    }
    this.installer.journals.want(order, issued.sha256, { mayInstall, keysInUse: [issued.spkiSha256] });
  }

  async settle(withinMs = 15_000): Promise<void> {
    await this.installer.settle(withinMs);
  }

  sha256(label: string): string {
    return this.certificates.of(label).issued.sha256;
  }

  pointOf(order: string, id = 'folder:web') {
    return this.installer.journals.of(order).points[id];
  }

  /** A server that starts by itself, at any time, reads what is there. @returns null when it cannot start */
  startServer(name: string): Map<string, string> | null {
    const read = new Map<string, string>();
    for (const point of this.settings.points.filter(({ service }) => service === name)) {
      const pair = this.pairAt(point);
      if (pair === null) return null;
      read.set(point.order, pair);
    }
    this.served.set(name, read);
    return read;
  }

  /** @returns SHA-256 of the certificate; null when there is none or the key is another one's */
  pairAt(point: Point): string | null {
    const folder = path.join(state, 'orders', orderFolder(point.order), 'current');
    const [certificate, key] =
      point.path === null
        ? [`${folder}/fullchain.pem`, `${folder}/privkey.pem`].map((file) => this.disk.readThrough(file))
        : [this.disk.readThrough(point.path), this.disk.readThrough(point.path)];
    if (certificate === null || key === null || certificate === undefined || key === undefined) return null;
    return matches(certificate.toString(), key.toString(), this.certificates);
  }

  private newInstaller(): Installer {
    const { signal } = this.stop;
    const orders = new OrderStore(this.disk, state);
    return new Installer({
      orders,
      placing: new Placing(this.disk, orders, { uid: 0 }),
      settings: this.settings,
      now: () => new Date(this.nowMs + this.clockErrorMs),
      correctedNow: () => new Date(this.nowMs),
      elapsedMs: () => this.nowMs,
      wait: async (ms) => {
        this.nowMs += ms;
        await new Promise((resolve) => setImmediate(resolve));
      },
      run: (command) => Promise.resolve(this.run(command)),
      probe: (target) => Promise.resolve(this.probe(target)),
      log: {
        info: (event, fields) => this.logged.push(`${event} ${JSON.stringify(fields)}`),
        warn: (event, fields) => this.logged.push(`${event} ${JSON.stringify(fields)}`),
      },
      changed: (order) => this.changed.push(order),
      signal,
    });
  }

  private run([what = '', name = '']: readonly string[]): CommandResult {
    this.commands.push({ command: `${what} ${name}`, atMs: this.nowMs });
    const behaviour = this.behaviourNow(name);
    const failed = (problem: string): CommandResult => ({ isOk: false, problem, stdout: Buffer.alloc(0) });
    const ok: CommandResult = { isOk: true, problem: null, stdout: Buffer.alloc(0) };
    if (what === 'test') return behaviour === 'test_fails' ? failed('syntax error in line 7') : ok;
    if (behaviour === 'reload_fails') return failed('exit code 1');
    if (behaviour === 'dies') this.served.delete(name);
    else if (behaviour === 'good' && this.startServer(name) === null) this.served.delete(name);
    return ok;
  }

  /** A behaviour concerns the certificates that it applies to, as long as one of them is in place. */
  private behaviourNow(name: string): Behaviour {
    const behaviour = this.behaviour.get(name) ?? 'good';
    if (this.appliesTo.size === 0) return behaviour;
    const inPlace = this.settings.points
      .filter(({ service }) => service === name)
      .map((point) => this.pairAt(point));
    return inPlace.some((sha256) => sha256 !== null && this.appliesTo.has(sha256)) ? behaviour : 'good';
  }

  private probe({ address, serverName }: ProbeTarget): ProbeResult {
    const served = this.served.get(address.split(':')[0] ?? '')?.get(serverName) ?? null;
    return served === null
      ? { sha256: null, problem: `${address}: connection refused` }
      : { sha256: served, problem: null };
  }
}

const known = new WeakMap<Certificates, Map<string, { sha256: string; key: string }>>();

/** By text, since parsing after each system call is slow. */
function matches(certificateText: string, keyText: string, certificates: Certificates): string | null {
  const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.exec(certificateText)?.[0] ?? '';
  const keyPem = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----/.exec(keyText)?.[0] ?? '';
  const table = known.get(certificates) ?? new Map<string, { sha256: string; key: string }>();
  known.set(certificates, table);
  let found = table.get(pem);
  if (found === undefined) {
    if (pem === '') return null;
    const sha256 = new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase();
    const own = [...certificates.issued.values()].find(({ issued }) => issued.sha256 === sha256);
    found = {
      sha256,
      key: own?.key.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString().trim() ?? '',
    };
    table.set(pem, found);
  }
  return found.key === keyPem ? found.sha256 : null;
}

const completeService = (service: Partial<Service> & { readonly name: string }): Service => ({
  test: ['test', service.name],
  reload: ['reload', service.name],
  timeoutMs: 30_000,
  window: null,
  probes: [],
  ...service,
});

const completePoint = (point: Partial<Point> & { readonly order: string }): Point => ({
  id: point.path ?? (point.service === undefined ? 'folder' : `folder:${point.service ?? ''}`),
  service: null,
  format: point.path === undefined ? 'folder' : 'combined',
  path: null,
  owner: null,
  group: null,
  mode: 0o600,
  passwordFile: null,
  ...point,
});

/** Seeded, so that a failure can be repeated (mulberry32). */
export function seededRandom(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
