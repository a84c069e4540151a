import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Forge, freePort } from '@certwright/testing';
import { runCommand } from '../../commands/run-command';
import type { Point, Service, Settings } from '../../configuration/settings';
import { DiskFiles } from '../../files/disk-files';
import { formatFiles } from '../../formats/format-files';
import { Installer } from '../../installation/installer';
import { Placing } from '../../installation/placing';
import { reloadGapMs } from '../../installation/plan';
import { probe } from '../../probes/probe';
import { OrderStore } from '../../state/order-store';
import { type RealServer, RunningServer, servedName } from './real-server';

/** Of tests and reloads, as in the agent's unit. */
const environment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

/** Of the agent: long waits, such as back-off and the time between reloads, pass at once. */
class SpecClock {
  /** Real time per time of the clock, for waits of up to a second. */
  pace = 1;
  private aheadMs = 0;
  readonly now = () => new Date(Date.now() + this.aheadMs);
  readonly wait = async (ms: number) => {
    const realMs = ms > 1000 ? 0 : ms * this.pace;
    this.aheadMs += ms - realMs;
    await pause(realMs);
  };
  advance(ms: number): void {
    this.aheadMs += ms;
  }
}

/** The installing part of an agent, with one order that each of some real servers uses. */
export class Host {
  readonly clock = new SpecClock();
  readonly servers: readonly RunningServer[];
  readonly folder: string;
  private readonly forge = new Forge();
  private readonly root = this.forge.make({ isCa: true, name: 'Spec root' });
  private readonly intermediate = this.forge.make({ isCa: true, by: this.root, name: 'Spec intermediate' });
  private readonly orders: OrderStore;
  private readonly installer: Installer;
  private readonly points: readonly Point[];

  private constructor(kinds: readonly RealServer[], ports: readonly (readonly [number, number])[]) {
    this.folder = mkdtempSync(path.join(tmpdir(), 'certwright-host-'));
    // Servers that give up root must still reach what they read.
    chmodSync(this.folder, 0o755);
    mkdirSync(path.join(this.folder, 'certs'), { mode: 0o755 });
    const files = new DiskFiles();
    this.orders = new OrderStore(files, path.join(this.folder, 'state'));
    this.servers = kinds.map((kind, index) => this.place(kind, ports[index] ?? [0, 0]));
    const services = kinds.map((kind, index) => serviceOf(kind, this.servers[index]));
    this.points = kinds.map((kind) => this.pointOf(kind));
    // The other settings are for the protocol.
    const settings = {
      services: new Map(services.map((service) => [service.name, service])),
      points: this.points,
    } as unknown as Settings;
    this.installer = new Installer({
      orders: this.orders,
      placing: new Placing(files, this.orders, { uid: process.getuid?.() ?? 0 }),
      settings,
      now: this.clock.now,
      correctedNow: this.clock.now,
      elapsedMs: () => this.clock.now().getTime(),
      wait: this.clock.wait,
      run: async (command, timeoutMs) => await runCommand(command, { timeoutMs, environment }),
      probe,
      log: { info: () => undefined, warn: () => undefined },
      changed: () => undefined,
      signal: new AbortController().signal,
    });
  }

  static async with(...kinds: readonly RealServer[]): Promise<Host> {
    const ports = await Promise.all(kinds.map(async () => [await freePort(), await freePort()] as const));
    return new Host(kinds, ports);
  }

  async dispose(): Promise<void> {
    await Promise.all(this.servers.map(async (server) => await server.stop()));
    this.forge.dispose();
    rmSync(this.folder, { recursive: true });
  }

  /** A new key and certificate, as they come from Certwright. @returns its hash */
  issue(): string {
    const leaf = this.forge.make({ by: this.intermediate, dnsNames: [servedName] });
    const pkcs8 = createPrivateKey(readFileSync(leaf.keyFile)).export({ type: 'pkcs8', format: 'der' });
    const { der: root } = this.root;
    const files = formatFiles({ leaf: leaf.der, chain: [this.intermediate.der], root, pkcs8 });
    this.orders.addVersion(servedName, leaf.sha256, files);
    this.installer.journals.want(servedName, leaf.sha256, { mayInstall: true, keysInUse: [] });
    return leaf.sha256;
  }

  async install(): Promise<void> {
    await this.installer.settle(reloadGapMs);
  }

  /** After a failure: the back-off, of a minute at first. */
  async retry(): Promise<void> {
    const { points } = this.installer.journals.of(servedName);
    const ends = Object.values(points).map(({ retryAt }) => (retryAt === null ? 0 : Date.parse(retryAt)));
    this.clock.advance(Math.max(0, Math.max(...ends) - this.clock.now().getTime()));
    await this.install();
  }

  /** What would be reported, for each server. */
  get records() {
    const { points } = this.installer.journals.of(servedName);
    return this.points.map(({ id }) => {
      const { state, problem, done } = points[id] ?? {};
      return { state, problem, done };
    });
  }

  /** For each server, the certificate of which it would read the leaf and the key if it started now. */
  get onDisk(): readonly string[] {
    return this.servers.map(({ place: { certificate, key } }) =>
      pairOf(readFileSync(certificate), readFileSync(key)),
    );
  }

  /** For each server, owner and permissions of the file with its key. */
  get access() {
    return this.servers.map(({ place: { key } }) => {
      const { uid, mode } = statSync(key);
      return { uid, mode: mode & 0o7777 };
    });
  }

  private place(kind: RealServer, ports: readonly [number, number]): RunningServer {
    const [certificate = '', key = ''] = this.filesOf(kind);
    return new RunningServer(kind, { folder: path.join(this.folder, kind.name), ports, certificate, key });
  }

  private filesOf(kind: RealServer): readonly string[] {
    if (kind.format === 'combined') return Array<string>(2).fill(this.combined(kind));
    const current = path.join(this.orders.folder(servedName), 'current');
    return ['fullchain.pem', 'privkey.pem'].map((name) => path.join(current, name));
  }

  private readonly combined = ({ name }: RealServer) => path.join(this.folder, 'certs', `${name}.pem`);

  private pointOf(kind: RealServer): Point {
    return {
      id: kind.name,
      order: servedName,
      service: kind.name,
      format: kind.format,
      path: kind.format === 'combined' ? this.combined(kind) : null,
      owner: kind.owner ?? null,
      group: null,
      mode: kind.mode ?? 0o600,
      passwordFile: null,
    };
  }
}

function serviceOf(kind: RealServer, running: RunningServer | undefined): Service {
  if (running === undefined) throw new Error(`${kind.name} has no place`);
  return {
    name: kind.name,
    test: kind.test(running.place),
    reload: [running.reloadScript],
    timeoutMs: 60_000,
    window: null,
    probes: running.probes,
  };
}

/** @throws Error when the key is that of another certificate */
function pairOf(certificate: Buffer, key: Buffer): string {
  const leaf = new X509Certificate(certificate);
  if (!leaf.checkPrivateKey(createPrivateKey(key))) throw new Error('the key is that of another certificate');
  return createHash('sha256').update(leaf.raw).digest('hex');
}
