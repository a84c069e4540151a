import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { startChild } from '@certwright/testing';

/** Options of tools/peers/pebble.mjs, documented there. */
export interface PebbleOptions {
  readonly binary?: string;
  readonly eab?: boolean;
  readonly nonceReject?: number;
  readonly authzReuse?: number;
  readonly vaNosleep?: boolean;
  readonly profiles?: Readonly<
    Record<string, { readonly description: string; readonly validityPeriod: number }>
  >;
  readonly alternateRoots?: number;
  readonly chainLength?: number;
  /** `address:port`; default: a pebble-challtestsrv of its own. */
  readonly resolver?: string;
  readonly blocked?: readonly string[];
}

export interface RunningPebble {
  readonly binary: string;
  readonly directoryUrl: string;
  readonly managementUrl: string;
  readonly tlsRoot: string;
  readonly externalAccount: { readonly keyId: string; readonly key: string } | null;
  readonly challengesUrl: string;
  /** Port for http-01 validation. */
  readonly httpPort: number;
  readonly folder: string;
  stop(): Promise<void>;
}

const workspaceRoot = path.join(__dirname, '../../../../..');

/** `packaged`: Debian's, without profiles and renewal information; `newer`: supports both. */
const binaries = { packaged: '/usr/bin/pebble', newer: '/opt/pebble-new/usr/bin/pebble' } as const;

export type PebbleRelease = keyof typeof binaries;

/** Releases installed on this machine. Specs that need a missing one are reported as skipped. */
export const installedPebbles = (Object.keys(binaries) as PebbleRelease[]).filter((release) =>
  existsSync(binaries[release]),
);

/** @param release whose binary to use; default: the newest installed */
export async function startPebble(
  options: PebbleOptions = {},
  release?: PebbleRelease,
): Promise<RunningPebble> {
  const chosen = release === undefined ? options : { ...options, binary: binaries[release] };
  const args = ['tools/peers/pebble.mjs', JSON.stringify(chosen)];
  const child = await startChild(process.execPath, { args, cwd: workspaceRoot });
  await child.says(/^\{.*\}$/m, 20_000);
  const started = JSON.parse(child.output().split('\n')[0] ?? '') as Omit<RunningPebble, 'stop'>;
  const stop = async () => {
    await child.stop();
    // pebble.mjs removes its folder itself, unless it was killed.
    rmSync(started.folder, { recursive: true, force: true });
  };
  return { ...started, stop };
}
