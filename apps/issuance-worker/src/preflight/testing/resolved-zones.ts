import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { startChild } from '@certwright/testing';

const workspaceRoot = path.join(__dirname, '../../../../..');
const upWithinMs = 40_000;

export interface Zone {
  readonly name: string;
  /** Lines of a master file. */
  readonly records: readonly string[];
}

export interface ResolvedZones {
  readonly resolver: { readonly host: string; readonly port: number };
  stop(): Promise<void>;
}

/** Required programs that are not installed. */
export function missingPrograms(): readonly string[] {
  const program = `import('./tools/peers/programs.mjs').then(({ missingFor }) => console.log(missingFor(['bind', 'unbound']).join()))`;
  const missing = execFileSync(process.execPath, ['-e', program], { cwd: workspaceRoot, encoding: 'utf8' });
  return missing.trim().split(',').filter(Boolean);
}

/** Zones on BIND, with Unbound as the resolver (see tools/peers/options.mjs). */
export async function startZones(zones: readonly Zone[]): Promise<ResolvedZones> {
  const options = { servers: [{ kind: 'bind', address: '127.0.0.41', zones }], unbound: true };
  const args = [path.join(workspaceRoot, 'tools/peers/main.mjs'), JSON.stringify(options)];
  const child = await startChild(process.execPath, { args, cwd: workspaceRoot });
  await child.says(/^\{"peers":.*\}$/m, upWithinMs);
  const [line = ''] = /^\{"peers":.*\}$/m.exec(child.output()) ?? [];
  const { peers } = JSON.parse(line) as {
    peers: { unbound: { readonly address: string; readonly port: number } };
  };
  const { address: host, port } = peers.unbound;
  return { resolver: { host, port }, stop: async () => void (await child.stop()) };
}
