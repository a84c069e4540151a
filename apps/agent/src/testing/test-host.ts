import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { clusterKeyFromSeed, joinString, newClusterKey, newEnrolmentToken } from '@certwright/agent-contract';
import type { Settings } from '../configuration/settings';
import { DiskFiles } from '../files/disk-files';
import type { Files } from '../files/files';
import type { Log } from '../log/log';
import { enrol } from '../program/enrol';
import { agentParts, type Host, settingsOf } from '../program/host';
import type { Output } from '../program/output';
import type { ProbeServer } from '../installation/probing';
import { Agent } from '../sync/agent';
import type { FakeServer } from './fake-server';

/** A host with folders of its own, for a fake server. */
export class TestHost {
  readonly folder: string;
  readonly configuration: string;
  readonly state: string;
  readonly printed: string[] = [];
  readonly logged: string[] = [];
  files: Files = new DiskFiles();
  private readonly stop = new AbortController();
  private running: Promise<void> | undefined;

  constructor(
    readonly server: FakeServer,
    readonly name = 'host-1',
  ) {
    this.folder = mkdtempSync(path.join(tmpdir(), 'agent-'));
    this.state = path.join(this.folder, 'state');
    mkdirSync(path.join(this.folder, 'files'));
    this.configuration = path.join(this.folder, 'agent.toml');
    this.configure('');
  }

  /** @param rest after the settings that every host needs */
  configure(rest: string, names = '["*.example.com", "example.com"]'): void {
    const ca = path.join(this.folder, 'ca.pem');
    writeFileSync(ca, this.server.ca.rootPem);
    const top = `server = "${this.server.url}"\nnames = ${names}\nstate = "${this.state}"\nca_file = "${ca}"\n`;
    writeFileSync(this.configuration, top + rest);
  }

  get host(): Host {
    return {
      files: this.files,
      owner: { uid: process.getuid?.() ?? 0 },
      environment: {
        joinString: this.joinText,
        configurationFile: undefined,
        isJournal: false,
        ofCommands: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
      },
      name: this.name,
      platform: 'linux-x64 test',
    };
  }

  joinText: string | undefined;

  get settings(): Settings {
    return settingsOf(this.host, this.configuration);
  }

  readonly output: Output = {
    print: (text) => this.printed.push(text),
    printError: (text) => this.printed.push(text),
    isJson: false,
  };

  readonly log: Log = {
    info: (event, fields) => this.logged.push(`${event} ${JSON.stringify(fields ?? {})}`),
    warn: (event, fields) => this.logged.push(`${event} ${JSON.stringify(fields ?? {})}`),
  };

  async enrol({ isNew = false } = {}): Promise<number> {
    return await enrol(
      this.host,
      this.settings,
      { joinFile: undefined, name: this.name, isNew },
      this.output,
    );
  }

  agent(changes: { readonly probe?: ProbeServer; readonly hostNow?: () => Date } = {}): Agent {
    const parts = agentParts(this.host, this.settings, this.log, this.stop.signal);
    return new Agent({ ...parts, ...changes });
  }

  start(agent: Agent): void {
    this.running = agent.run();
  }

  async end(): Promise<void> {
    this.stop.abort();
    this.server.interrupt();
    await this.running;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A token of the server, with a new cluster key or that of the cluster. */
export function newJoinText(server: FakeServer, { uses = 1, seed = null as Uint8Array | null } = {}): string {
  const token = newEnrolmentToken();
  server.tokens.set(token, uses);
  if (seed !== null) server.clusterKey = clusterKeyFromSeed(seed).publicKey;
  return joinString({ token, clusterKeySeed: seed });
}

export const newSeed = (): Uint8Array => newClusterKey().seed;
