import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Child, startChild } from '@certwright/testing';
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

/** How Debian's package of a server is run and told of new certificates, reduced to loopback and a folder. */
export interface RealServer {
  readonly name: string;
  /** What must be installed. */
  readonly needs: readonly string[];
  readonly format: 'folder' | 'combined';
  /** Of the combined file. */
  readonly owner?: string;
  readonly mode?: string;
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
  /** A second process that a reload leaves is ended with this signal to the first. Default: SIGTERM. */
  readonly stopSignal?: NodeJS.Signals;
}

export const isInstalled = ({ needs }: RealServer): boolean => needs.every((file) => existsSync(file));

/** What the reload of a service does; the file of the mode is read by the script at each run. */
export type ReloadMode = 'works' | 'fails' | 'does nothing' | 'ends the server';

/** A server that runs, restarts and is reloaded. */
export class RunningServer {
  private child: Child | undefined;
  readonly reloadScript: string;
  private readonly modeFile: string;
  private readonly countFile: string;

  constructor(
    private readonly server: RealServer,
    readonly place: Place,
  ) {
    this.reloadScript = path.join(place.folder, 'reload');
    this.modeFile = path.join(place.folder, 'reload-mode');
    this.countFile = path.join(place.folder, 'reloads');
    mkdirSync(place.folder, { recursive: true, mode: 0o755 });
    this.reloads('works');
    this.configure('');
    server.prepare?.(place);
    // As an operator's script: the server's own command, and what may go wrong with it.
    const quoted = server.reload(place).map(shellQuoted).join(' ');
    writeFileSync(
      this.reloadScript,
      `#!/bin/sh
echo reload >> ${this.countFile}
case "$(cat ${this.modeFile})" in
  fails) echo 'the reload of the spec fails' >&2; exit 7 ;;
  'does nothing') exit 0 ;;
  'ends the server') kill -9 "$(cat ${place.folder}/spec-pid)"; exit 0 ;;
esac
exec ${quoted}
`,
      { mode: 0o755 },
    );
  }

  /** Addresses for the agent's configuration. */
  get probes(): readonly { readonly address: string; readonly starttls: StartTls | null }[] {
    return this.server.starttls.map((starttls, index) => ({
      address: `127.0.0.1:${this.place.ports[index]}`,
      starttls,
    }));
  }

  async start(): Promise<void> {
    const [command = '', ...args] = this.server.start(this.place);
    this.child = await startChild(command, { args, env: { HOME: this.place.folder } });
    writeFileSync(path.join(this.place.folder, 'spec-pid'), String(this.child.pid));
  }

  async stop(): Promise<void> {
    if (this.server.stopSignal !== undefined) this.child?.signal(this.server.stopSignal);
    await this.child?.stop(5000);
    this.child = undefined;
  }

  /** A crash, as of a machine that loses power. */
  async crash(): Promise<void> {
    const { child } = this;
    if (child === undefined) return;
    process.kill(-child.pid, 'SIGKILL');
    await child.ended;
    this.child = undefined;
  }

  output(): string {
    return this.child?.output() ?? '';
  }

  reloads(mode: ReloadMode): void {
    writeFileSync(this.modeFile, mode);
  }

  /** @param mistake '' makes the configuration correct again */
  configure(mistake: string): void {
    writeFileSync(path.join(this.place.folder, this.server.file), this.server.config(this.place) + mistake);
  }

  breakConfiguration(): void {
    this.configure(this.server.mistake);
  }

  /** SHA-256 of what visitors get at each address. @throws Error with the problem of the first that does not serve */
  async served(): Promise<readonly string[]> {
    return await Promise.all(
      this.probes.map(async ({ address, starttls }) => {
        const target = { address, serverName: servedName, ...(starttls === null ? {} : { starttls }) };
        const { sha256, problem } = await probe(target, { timeoutMs: 10_000 });
        if (sha256 === null) throw new Error(`${problem}\n${this.output()}`);
        return sha256;
      }),
    );
  }
}

const shellQuoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
