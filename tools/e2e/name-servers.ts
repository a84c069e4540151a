import { type Child, startChild } from '@certwright/testing';
import { workspaceRoot } from './platform';

/** Output of tools/peers/main.mjs; see options.mjs there. */
export interface NameServers {
  readonly port: number;
  readonly keys: { readonly full: TsigKey };
  readonly servers: readonly {
    readonly kind: string;
    readonly address: string;
    readonly api?: string;
    readonly apiKey?: string;
  }[];
  readonly unbound: { readonly address: string; readonly port: number };
  stop(): Promise<unknown>;
}

export interface TsigKey {
  readonly name: string;
  readonly algorithm: string;
  readonly secret: string;
}

const upWithinMs = 40_000;

/** Real name servers with separate loopback addresses, and a resolver for their zones. */
export async function startNameServers(servers: readonly object[]): Promise<NameServers> {
  const child: Child = await startChild(process.execPath, {
    args: ['tools/peers/main.mjs', JSON.stringify({ servers, unbound: true })],
    cwd: workspaceRoot,
  });
  await child.says(/^\{"peers":.*\}$/m, upWithinMs);
  const line = /^\{"peers":.*\}$/m.exec(child.output())?.[0] ?? '';
  const { peers } = JSON.parse(line) as { peers: Omit<NameServers, 'stop'> };
  return { ...peers, stop: async () => await child.stop() };
}
