import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { startChild } from '@certwright/testing';

export type PeerKind = 'bind' | 'knot' | 'pdns';

export interface PeerZone {
  readonly name: string;
  readonly records?: readonly string[];
  readonly primary?: string;
  readonly refreshS?: number;
}

export interface PeerServer {
  readonly kind: PeerKind;
  readonly address: string;
  readonly zones: readonly PeerZone[];
}

export interface PeerKey {
  readonly name: string;
  readonly algorithm: string;
  readonly secret: string;
}

export interface RunningPeer {
  readonly kind: PeerKind;
  readonly address: string;
  readonly pid: number;
  readonly log: string;
  /** PowerDNS only. */
  readonly api?: string;
  readonly apiKey?: string;
}

/** See tools/peers/options.mjs. */
export interface Peers {
  readonly port: number;
  readonly keys: Readonly<Record<'full' | 'sha384' | 'sha512' | 'challenges', PeerKey>>;
  readonly servers: readonly RunningPeer[];
  stop(): Promise<void>;
}

const workspaceRoot = path.join(__dirname, '../../../../../..');
const main = path.join(workspaceRoot, 'tools/peers/main.mjs');

/** Programs missing for these servers; `[]` when real servers can be started. */
export function missingFor(kinds: readonly PeerKind[]): readonly string[] {
  const program = `import('./tools/peers/programs.mjs').then(({ missingFor }) => console.log(JSON.stringify(missingFor(${JSON.stringify(kinds)}))))`;
  const output = execFileSync(process.execPath, ['-e', program], { cwd: workspaceRoot, encoding: 'utf8' });
  return JSON.parse(output) as readonly string[];
}

/** `describe`, or `describe.skip` with the name of a missing program in the title. */
export function describeWithPeers(kinds: readonly PeerKind[], title: string, body: () => void): void {
  const missing = missingFor(kinds);
  if (missing.length === 0) describe(title, body);
  else describe.skip(`${title} (not installed: ${missing.join(', ')})`, body);
}

/** Real name servers, stopped at the end of the spec. */
export async function startPeers(servers: readonly PeerServer[]): Promise<Peers> {
  const args = [main, JSON.stringify({ servers })];
  const child = await startChild(process.execPath, { args, cwd: workspaceRoot });
  await child.says(/^\{"peers":.*\}$/m, 30_000);
  const [line = ''] = /^\{"peers":.*\}$/m.exec(child.output()) ?? [];
  const { peers } = JSON.parse(line) as { peers: Omit<Peers, 'stop'> };
  return { ...peers, stop: async () => void (await child.stop()) };
}
