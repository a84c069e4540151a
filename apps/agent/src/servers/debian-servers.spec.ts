import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually, Forge, freePort } from '@certwright/testing';
import { runCommand } from '../commands/run-command';
import type { Point, Service, Settings } from '../configuration/settings';
import { DiskFiles } from '../files/disk-files';
import { formatFiles } from '../formats/format-files';
import { Installer } from '../installation/installer';
import { Placing } from '../installation/placing';
import { reloadGapMs } from '../installation/plan';
import { probe } from '../probes/probe';
import { OrderStore } from '../state/order-store';
import { debianServers } from './testing/debian-servers';
import { isInstalled, type RealServer, RunningServer, servedName } from './testing/real-server';

const isRoot = process.getuid?.() === 0;
const forge = new Forge();
const root = forge.make({ isCa: true, name: 'Spec root' });
const intermediate = forge.make({ isCa: true, by: root, name: 'Spec intermediate' });
const folder = mkdtempSync(path.join(tmpdir(), 'certwright-servers-'));
// Servers that give up root must still reach what they read.
chmodSync(folder, 0o755);
afterAll(() => {
  forge.dispose();
  rmSync(folder, { recursive: true });
});

/** Of the agent; with it, 30 s for a probe and the back-off of a minute pass in less. */
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

/** An agent with one point, for one real server. */
class Host {
  readonly clock = new SpecClock();
  readonly running: RunningServer;
  private readonly orders: OrderStore;
  private readonly installer: Installer;
  private readonly point: Point;

  constructor(server: RealServer, own: string, ports: readonly [number, number]) {
    const files = new DiskFiles();
    const state = path.join(own, 'state');
    mkdirSync(path.join(own, 'certs'), { recursive: true, mode: 0o755 });
    this.orders = new OrderStore(files, state);
    const current = path.join(this.orders.folder(servedName), 'current');
    const combined = path.join(own, 'certs/www.pem');
    const isCombined = server.format === 'combined';
    const certificate = isCombined ? combined : path.join(current, 'fullchain.pem');
    const key = isCombined ? combined : path.join(current, 'privkey.pem');
    this.running = new RunningServer(server, { folder: path.join(own, 'server'), ports, certificate, key });
    const service: Service = {
      name: server.name,
      test: server.test(this.running.place),
      reload: [this.running.reloadScript],
      timeoutMs: 60_000,
      window: null,
      probes: this.running.probes,
    };
    this.point = {
      id: 'spec',
      order: servedName,
      service: server.name,
      format: server.format,
      path: isCombined ? combined : null,
      owner: server.owner ?? null,
      group: null,
      mode: 0o600,
      passwordFile: null,
    };
    const settings = {
      services: new Map([[server.name, service]]),
      points: [this.point],
    } as unknown as Settings;
    this.installer = new Installer({
      orders: this.orders,
      placing: new Placing(files, this.orders, { uid: process.getuid?.() ?? 0 }),
      settings,
      now: this.clock.now,
      wait: this.clock.wait,
      run: async (command, timeoutMs) => await runCommand(command, { timeoutMs, environment: process.env }),
      probe,
      log: { info: () => undefined, warn: () => undefined },
      changed: () => undefined,
      signal: new AbortController().signal,
    });
  }

  /** A new key and certificate, as they come from the server. @returns its hash */
  issue(): string {
    const leaf = forge.make({ by: intermediate, dnsNames: [servedName] });
    const pkcs8 = createPrivateKey(readFileSync(leaf.keyFile)).export({ type: 'pkcs8', format: 'der' });
    const files = formatFiles({ leaf: leaf.der, chain: [intermediate.der], root: root.der, pkcs8 });
    this.orders.addVersion(servedName, leaf.sha256, files);
    this.installer.want(servedName, leaf.sha256, { mayInstall: true, keysInUse: [] });
    return leaf.sha256;
  }

  async install(): Promise<void> {
    await this.installer.settle(reloadGapMs);
  }

  /** After a failure: the back-off of one minute. */
  async retry(): Promise<void> {
    this.clock.advance(60_000);
    await this.install();
  }

  get record() {
    const { state, problem, done } = this.installer.journal(servedName).points['spec'] ?? {};
    return { state, problem, done };
  }

  /** The certificate of which a server that starts now reads the leaf and its key. */
  get onDisk(): string | undefined {
    const { certificate, key } = this.running.place;
    const leaf = new X509Certificate(readFileSync(certificate));
    expect(leaf.checkPrivateKey(createPrivateKey(readFileSync(key)))).toBe(true);
    return createHash('sha256').update(leaf.raw).digest('hex');
  }
}

const serving = (done: string) => ({ state: 'serving', problem: null, done });
const rolledBack = (problem: RegExp) => ({
  state: 'rolled_back',
  problem: expect.stringMatching(problem),
  done: null,
});

/** Shown as skipped where the server is missing, or must begin as root; tools/test/peers.sh installs all of them. */
describe.each(debianServers.map((server) => [server.name, server] as const))('%s', (name, server) => {
  const given = isInstalled(server) && (isRoot || server.needsRoot !== true) ? it : it.skip;
  let host: Host;
  let current: string;

  beforeAll(async () => {
    const ports = [await freePort(), await freePort()] as const;
    if (isInstalled(server)) host = new Host(server, path.join(folder, name), ports);
  });
  afterAll(async () => await host?.running.stop());

  /** Visitors, disk and report agree. */
  const expectServed = async (sha256: string) => {
    expect(new Set(await host.running.served())).toEqual(new Set([sha256]));
    expect(host.onDisk).toBe(sha256);
  };

  given('install: starts with the first certificate', async () => {
    current = host.issue();
    await host.install();
    expect(host.record).toEqual(serving(current));
    await expectServed(current);
  });

  given('renewal: one reload, then the new certificate is served', async () => {
    const before = host.running.reloadCount;
    current = host.issue();
    await host.install();
    expect(host.record).toEqual(serving(current));
    expect(host.running.reloadCount).toBe(before + 1);
    await expectServed(current);
  });

  given('failing test: nothing is reloaded, and the old files are back', async () => {
    const before = host.running.reloadCount;
    host.running.breakConfiguration();
    const next = host.issue();
    await host.install();
    expect(host.record).toEqual(rolledBack(new RegExp(`^test of ${name} failed: .* returned \\d+`)));
    expect(host.running.reloadCount).toBe(before);
    await expectServed(current);
    host.running.configure('');
    await host.retry();
    expect(host.record).toEqual(serving(next));
    await expectServed((current = next));
  });

  given('failing reload: the old certificate is back', async () => {
    host.running.reloads('fails');
    const next = host.issue();
    await host.install();
    expect(host.record).toEqual(
      rolledBack(new RegExp(`^reload of ${name} failed: .*the reload of the spec fails`)),
    );
    await expectServed(current);
    host.running.reloads('works');
    await host.retry();
    expect(host.record).toEqual(serving(next));
    await expectServed((current = next));
  });

  given(
    'reload that changes nothing: the old certificate is back, although every command succeeded',
    async () => {
      host.running.reloads('does nothing');
      host.clock.pace = 0.02;
      const next = host.issue();
      await host.install();
      host.clock.pace = 1;
      expect(host.record).toEqual(rolledBack(/serves another certificate .* within 30 s after the reload/));
      await expectServed(current);
      host.running.reloads('works');
      await host.retry();
      expect(host.record).toEqual(serving(next));
      await expectServed((current = next));
    },
  );

  given('rollback: a server that a reload has ended is started with the old certificate', async () => {
    host.running.reloads('ends the server');
    host.clock.pace = 0.02;
    const next = host.issue();
    await host.install();
    host.clock.pace = 1;
    expect(host.record).toEqual(
      rolledBack(/connection refused.* within 30 s after the reload; the old certificate is served/),
    );
    await expectServed(current);
    await host.retry();
    expect(host.record).toEqual(serving(next));
    await expectServed((current = next));
  });

  given('a crash at any time: the server starts with what is on the disk', async () => {
    await host.running.crash();
    await host.running.start();
    await eventually(async () => await expectServed(current));
  });
});
