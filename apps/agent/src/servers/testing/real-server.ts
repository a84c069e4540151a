import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { type Child, eventually, isAlive, startChild } from '@certwright/testing';
import type { Probe } from '../../configuration/settings';
import { probe } from '../../probes/probe';
import type { StartTls } from '../../probes/starttls';

export const servedName = 'www.example.com';

/** Where one server is set up. */
export interface Place {
  /** Its own, mode 0755. */
  readonly folder: string;
  /** On 127.0.0.1; the second one is for servers with two protocols. */
  readonly ports: readonly [number, number];
  /** What it reads, as the agent writes it. */
  readonly certificate: string;
  readonly key: string;
}

/** How Debian's package of a server is run and reloaded, reduced to loopback and a folder. */
export interface RealServer {
  readonly name: string;
  /** What must be installed. */
  readonly needs: readonly string[];
  /** Whether it gives up root, and so needs it. */
  readonly needsRoot?: true;
  readonly format: 'folder' | 'combined';
  /** Of the combined file. */
  readonly owner?: string;
  readonly mode?: number;
  /** For each port; null: TLS from the first byte. */
  readonly starttls: readonly (StartTls | null)[];
  /** Its main configuration file, in the folder. */
  readonly file: string;
  config(place: Place): string;
  /** Appended to the configuration, so that its own test fails and it keeps running. */
  readonly mistake: string;
  /** Before its first start. */
  prepare?(place: Place): void;
  /** Runs it in the foreground. */
  start(place: Place): readonly string[];
  test(place: Place): readonly string[];
  reload(place: Place): readonly string[];
  /** In the folder. The server writes it after it listens, and its reload command needs it. */
  readonly pidFile?: string;
  /** A second process that a reload leaves is ended with this signal to the first. Default: SIGTERM. */
  readonly stopSignal?: NodeJS.Signals;
}

/** Whether it is installed, and this user may run it. */
export const mayRun = ({ needs, needsRoot }: RealServer): boolean =>
  needs.every((file) => existsSync(file)) && (needsRoot !== true || process.getuid?.() === 0);

/** What the reload of a service does. `ends the server` does so once. */
export type ReloadMode = 'works' | 'fails' | 'does nothing' | 'ends the server';

/** A server under a supervisor, which its reload script starts it with when it does not run, as systemd does. */
export class RunningServer {
  /** An argument list of the agent's configuration. */
  readonly reloadScript: string;
  private child: Child | undefined;
  private isRunning = false;
  /** Its starts and ends, one after the other. */
  private last: Promise<void> = Promise.resolve();
  private readonly supervision: NodeJS.Timeout;
  private readonly file = (name: string) => path.join(this.place.folder, name);

  constructor(
    private readonly server: RealServer,
    readonly place: Place,
  ) {
    mkdirSync(place.folder, { recursive: true, mode: 0o755 });
    this.reloadScript = this.file('reload');
    this.reloads('works');
    this.configure('');
    server.prepare?.(place);
    writeFileSync(this.reloadScript, this.script(), { mode: 0o755 });
    this.supervision = setInterval(() => this.startOnRequest(), 20);
  }

  /** Does nothing while it runs. */
  async start(): Promise<void> {
    await this.exclusively(async () => await this.spawn());
  }

  async stop(): Promise<void> {
    clearInterval(this.supervision);
    await this.exclusively(async () => await this.end());
  }

  /** As by a machine that loses power, with everything that belongs to the server. */
  async crash(): Promise<void> {
    await this.exclusively(async () => await this.kill());
  }

  /** A reload script that finds it ended waits until it runs again. */
  async restart(how: 'crash' | 'stop'): Promise<void> {
    await this.exclusively(async () => {
      await (how === 'crash' ? this.kill() : this.end());
      await this.spawn();
    });
  }

  private async exclusively(action: () => Promise<void>): Promise<void> {
    const done = this.last.then(action);
    this.last = done.catch(() => undefined);
    await done;
  }

  private async spawn(): Promise<void> {
    if (this.isRunning) return;
    const [command = '', ...args] = this.server.start(this.place);
    const { pidFile } = this.server;
    for (const stale of ['spec-pid', ...(pidFile === undefined ? [] : [pidFile])])
      rmSync(this.file(stale), { force: true });
    const child = await startChild(command, { args, env: { HOME: this.place.folder } });
    this.child = child;
    this.isRunning = true;
    void child.ended.then(() => {
      if (this.child === child) this.isRunning = false;
    });
    // As systemd, which knows when a service is ready: a signal that arrives earlier would end HAProxy.
    const ports = this.server.starttls.map((_, index) => this.place.ports[index] ?? 0);
    const isReady = async () => {
      await Promise.all(ports.map(accepts));
      if (pidFile !== undefined) expect(existsSync(this.file(pidFile))).toBe(true);
    };
    await eventually(isReady, { isHopeless: () => !this.isRunning }).catch((error: unknown) => {
      throw new Error(`${this.server.name} does not start: ${this.said()}`, { cause: error });
    });
    writeFileSync(this.file('spec-pid'), String(this.child.pid));
  }

  private async end(): Promise<void> {
    if (this.server.stopSignal !== undefined) this.child?.signal(this.server.stopSignal);
    await this.child?.stop(5000);
  }

  private async kill(): Promise<void> {
    const { child } = this;
    if (child === undefined || !this.isRunning) return;
    // Workers of PostgreSQL have sessions of their own.
    const all = [child.pid, ...descendantsOf(child.pid)];
    // The group has what lost its parent earlier, and would keep the output open.
    for (const pid of [...all, -child.pid]) killQuietly(pid);
    await child.ended;
    await eventually(() => expect(all.filter(isAlive)).toEqual([]));
  }

  reloads(mode: ReloadMode): void {
    writeFileSync(this.file('reload-mode'), mode);
  }

  /** How often the script has run. */
  get reloadCount(): number {
    return existsSync(this.file('reloads')) ? readFileSync(this.file('reloads'), 'utf8').length : 0;
  }

  /** @param mistake '' makes the configuration correct again */
  configure(mistake: string): void {
    writeFileSync(this.file(this.server.file), this.server.config(this.place) + mistake);
  }

  breakConfiguration(): void {
    this.configure(this.server.mistake);
  }

  get name(): string {
    return this.server.name;
  }

  /** For the agent's configuration. */
  get probes(): readonly Probe[] {
    return this.server.starttls.map((starttls, index) => ({
      address: `127.0.0.1:${this.place.ports[index]}`,
      serverName: servedName,
      starttls,
    }));
  }

  /** SHA-256 of what visitors get at each address. @throws Error with the problem of the first that does not serve */
  async served(): Promise<readonly string[]> {
    return await Promise.all(
      this.probes.map(async ({ address, serverName, starttls }) => {
        const target = { address, serverName, ...(starttls === null ? {} : { starttls }) };
        const { sha256, problem } = await probe(target, { timeoutMs: 10_000 });
        if (sha256 === null) throw new Error(`${this.server.name}: ${problem}\n${this.said()}`);
        return sha256;
      }),
    );
  }

  private said(): string {
    const log = this.file('error.log');
    const end = existsSync(log) ? readFileSync(log, 'utf8').slice(-2000) : '';
    return `${this.isRunning ? 'runs' : 'has ended'}\n${this.child?.output().slice(-2000)}\n${end}`;
  }

  /** The server's own command, and what may go wrong with it. */
  private script(): string {
    return `#!/bin/sh
cd ${this.place.folder}
printf . >> reloads
mode=$(cat reload-mode)
case "$mode" in
  fails) echo 'the reload of the spec fails' >&2; exit 7 ;;
  'does nothing') exit 0 ;;
esac
pid=$(cat spec-pid 2>/dev/null || echo none)
if [ "$mode" = 'ends the server' ]; then
  echo works > reload-mode
  kill -9 "-$pid"
  exit 0
fi
# A process that has ended and was not waited for has no command line.
if [ -z "$(tr -d '\\0' < "/proc/$pid/cmdline" 2>/dev/null)" ]; then
  touch start-request
  while [ -e start-request ] || [ -e start-accepted ]; do sleep 0.02; done
fi
exec ${this.server.reload(this.place).map(quoted).join(' ')}
`;
  }

  private startOnRequest(): void {
    if (!existsSync(this.file('start-request'))) return;
    renameSync(this.file('start-request'), this.file('start-accepted'));
    void this.start()
      // The script then reports that it cannot reload.
      .catch(() => undefined)
      .then(() => rmSync(this.file('start-accepted'), { force: true }));
  }
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

async function accepts(port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(void socket.destroy()));
    socket.once('error', reject);
  });
}

function descendantsOf(parent: number): readonly number[] {
  const children = readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && parentOf(pid) === parent);
  return [...children, ...children.flatMap(descendantsOf)];
}

/** proc_pid_stat(5): the fourth field, behind a name that may contain anything. */
function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
