import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { orderFolder } from '@certwright/agent-contract';
import type { Settings } from '../../apps/agent/src/configuration/settings';
import { DiskFiles } from '../../apps/agent/src/files/disk-files';
import { enrol } from '../../apps/agent/src/program/enrol';
import { agentParts, type Host, settingsOf } from '../../apps/agent/src/program/host';
import { type Identity, readIdentity } from '../../apps/agent/src/state/identity';
import { type StoredKey, StoredKeys } from '../../apps/agent/src/state/stored-keys';
import { Agent } from '../../apps/agent/src/sync/agent';
import type { Relay } from './falsifying-relay';
import { type Installed, installedIn } from './python-host';

/** What these specs check does not depend on a loss of power. */
class UnsyncedFiles extends DiskFiles {
  override sync(): void {
    // Nothing.
  }

  override syncFolder(): void {
    // Nothing.
  }
}

/** A host with apps/agent, in this process. It installs folders, and reloads nothing. */
export class AgentHost {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'certwright-agent-host-'));
  readonly state = path.join(this.folder, 'state');
  readonly logged: string[] = [];
  private readonly configuration = path.join(this.folder, 'agent.toml');
  private stopping: AbortController | undefined;
  private running: Promise<void> | undefined;

  constructor(
    relay: Pick<Relay, 'url' | 'caFile'>,
    orders: readonly string[],
    names: readonly string[] = ['*.example.com'],
  ) {
    const top = `server = "${relay.url}"\nca_file = "${relay.caFile}"\nstate = "${this.state}"\n`;
    const installs = orders.map((order) => `[[install]]\norder = ${JSON.stringify(order)}\n`);
    writeFileSync(this.configuration, `${top}names = ${JSON.stringify(names)}\n${installs.join('')}`);
  }

  async enrol(join: string): Promise<void> {
    const printed: string[] = [];
    const print = (text: string) => void printed.push(text);
    const code = await enrol(
      { ...this.host(), environment: { ...this.host().environment, joinString: join } },
      this.settings(),
      { joinFile: undefined, name: path.basename(this.folder), isNew: false },
      { print, printError: print, isJson: false },
    );
    if (code !== 0) throw new Error(printed.join(''));
  }

  /** Until `stop`. */
  start(): void {
    this.stopping = new AbortController();
    this.running = this.agent(this.stopping.signal).run();
  }

  async stop(): Promise<void> {
    this.stopping?.abort();
    await this.running;
    this.running = undefined;
  }

  /** @throws what the agent throws */
  async once(): Promise<void> {
    await this.agent(new AbortController().signal).once();
  }

  identity(): Identity {
    const identity = readIdentity(new DiskFiles(), this.state);
    if (identity === null) throw new Error('not enrolled');
    return identity;
  }

  installed = (order: string): Installed | undefined =>
    installedIn(path.join(this.state, 'orders', orderFolder(order)));

  keys(): StoredKey[] {
    const stored = new StoredKeys(new DiskFiles(), this.state);
    return stored.all().map((spki) => stored.find(spki)!);
  }

  /** Files and folders below the host's folder, without its state. */
  outsideOfState = (): string[] => readdirSync(this.folder).filter((name) => name !== 'state');

  /** Takes over the state as it was when `snapshot` was made. */
  restore(snapshot: string): void {
    rmSync(this.state, { recursive: true, force: true });
    cpSync(snapshot, this.state, { recursive: true, verbatimSymlinks: true });
  }

  snapshot(): string {
    const copy = path.join(tmpdir(), `certwright-agent-state-${randomBytes(6).toString('hex')}`);
    cpSync(this.state, copy, { recursive: true, verbatimSymlinks: true });
    return copy;
  }

  readText = (file: string): string => readFileSync(path.join(this.state, file), 'utf8');

  dispose(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private agent(signal: AbortSignal): Agent {
    const log = (event: string, fields: object = {}) =>
      void this.logged.push(`${event} ${JSON.stringify(fields)}`);
    return new Agent(agentParts(this.host(), this.settings(), { info: log, warn: log }, signal));
  }

  private settings = (): Settings => settingsOf(this.host(), this.configuration);

  private host(): Host {
    return {
      files: new UnsyncedFiles(),
      owner: { uid: process.getuid?.() ?? 0 },
      environment: {
        joinString: undefined,
        configurationFile: undefined,
        isJournal: false,
        ofCommands: { PATH: '/usr/bin:/bin' },
      },
      name: path.basename(this.folder),
      platform: 'linux spec',
    };
  }
}
