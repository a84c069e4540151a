import { enrol } from '../program/enrol';
import { agentParts, type Host, settingsOf } from '../program/host';
import { Agent } from '../sync/agent';
import type { FakeServer } from './fake-server';
import { LossyDisk } from './lossy-disk';

const configurationFile = '/etc/certwright-agent/agent.toml';
const silent = { info: () => undefined, warn: () => undefined };
const output = { print: () => undefined, printError: () => undefined, isJson: false };

/** The disk of a host that is not enrolled yet. */
export function lossyHostDisk(server: FakeServer, installs: string): LossyDisk {
  const disk = new LossyDisk(['/var/lib', '/etc/certwright-agent', '/etc/servers']);
  configure(disk, server, installs);
  disk.put('/etc/machine-id', `${'a'.repeat(32)}\n`);
  return disk;
}

export function configure(disk: LossyDisk, server: FakeServer, installs: string): void {
  disk.put(configurationFile, `server = "${server.url}"\nnames = ["*.example.com"]\n${installs}`);
}

const hostOf = (disk: LossyDisk, joinString?: string): Host => ({
  files: disk,
  owner: { uid: 0 },
  environment: { joinString, configurationFile: undefined, isJournal: false, ofCommands: {} },
  name: 'host-1',
  platform: 'test',
});

export async function join(disk: LossyDisk, joinString: string): Promise<number> {
  const host = hostOf(disk, joinString);
  return await enrol(
    host,
    settingsOf(host, configurationFile),
    { joinFile: undefined, name: undefined, isNew: false },
    output,
  );
}

export function agentOf(
  disk: LossyDisk,
  hostNow?: () => Date,
  signal: AbortSignal = new AbortController().signal,
): Agent {
  const host = hostOf(disk);
  const parts = agentParts(host, settingsOf(host, configurationFile), silent, signal);
  return new Agent({ ...parts, ...(hostNow === undefined ? {} : { hostNow }) });
}

export async function once(disk: LossyDisk): Promise<Agent> {
  const agent = agentOf(disk);
  await agent.once();
  return agent;
}
