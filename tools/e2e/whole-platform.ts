import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { type Child, eventually, startChild } from '@certwright/testing';
import { workspaceRoot } from './platform';
import { freePortOffset } from './port-offset';

/** Bundling, initdb, migrations and every app, on a machine that runs other specs at the same time. */
const startWithinMs = 120_000;

/** What start.json says, as far as specs need it. */
export interface Started {
  readonly apis: Readonly<Record<string, string>>;
  readonly api_key: string;
  readonly account_id: string;
  readonly dns_control: string;
  readonly mailbox: string;
  readonly sandbox_root: string;
  readonly database_url: string;
  readonly ct_database_url: string;
  readonly redis_url: string;
  readonly logs: Readonly<Record<string, string>>;
  readonly pid_files: Readonly<Record<string, string>>;
}

/** Everything that `npm start` runs, with data of its own. */
export interface WholePlatform {
  readonly started: Started;
  readonly folder: string;
  admin(...args: string[]): Promise<string>;
  stop(): Promise<void>;
}

export async function startWholePlatform(env: Readonly<Record<string, string>> = {}): Promise<WholePlatform> {
  const folder = mkdtempSync(path.join(process.env['CERTWRIGHT_TEST_RUN'] ?? '', 'whole-'));
  // A Redis that this run had to fetch is not fetched again.
  symlinkSync(path.join(workspaceRoot, '.certwright/redis-binaries'), path.join(folder, 'redis-binaries'));
  const child = await startChild(process.execPath, {
    args: ['tools/up/start.mjs'],
    cwd: workspaceRoot,
    env: {
      CERTWRIGHT_HOME: folder,
      PORT_OFFSET: await freePortOffset(),
      npm_lifecycle_event: undefined,
      ...env,
    },
  });
  await child.says(/Ctrl-C stops everything/, startWithinMs);
  const started = JSON.parse(readFileSync(path.join(folder, 'start.json'), 'utf8')) as Started;
  return {
    started,
    folder,
    admin: async (...args) => await admin(started, args),
    stop: async () => await stopAll(child, folder),
  };
}

async function stopAll(child: Child, folder: string): Promise<void> {
  child.signal('SIGINT');
  await child.ended;
  await eventually(() => rmSync(folder, { recursive: true, force: true }));
}

async function admin(
  { database_url, ct_database_url, redis_url }: Started,
  args: readonly string[],
): Promise<string> {
  const child = await startChild(process.execPath, {
    args: ['dist/tools/admin/main.js', ...args],
    cwd: workspaceRoot,
    env: { DATABASE_URL: database_url, CT_DATABASE_URL: ct_database_url, REDIS_URL: redis_url },
  });
  const { code } = await child.ended;
  if (code !== 0) throw new Error(child.output());
  return child.output();
}
