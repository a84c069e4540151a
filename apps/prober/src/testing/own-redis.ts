import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { startChild } from '@certwright/testing';

const workspaceRoot = path.join(__dirname, '../../../..');

/** Where `npm test` has its own from. Asked in a process apart, as these modules run before anything is compiled. */
const findBinary = `
  const [{ redisBinary }, { places }] = await Promise.all(
    ['embedded/redis-binaries.mjs', 'up/home.mjs'].map((file) => import('./tools/' + file)));
  console.log(JSON.stringify(await redisBinary({ cache: places.redisBinaries })));
`;

interface RedisBinary {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface OwnRedis {
  /** SIGKILL: its data and its connections are lost. */
  kill(): Promise<void>;
}

/** A real Redis that a spec may kill and start again on the same port. */
export async function startOwnRedis(port: number): Promise<OwnRedis> {
  const findArgs = ['--input-type=module', '-e', findBinary];
  const found = execFileSync(process.execPath, findArgs, { cwd: workspaceRoot, encoding: 'utf8' });
  const { command, env } = JSON.parse(found) as RedisBinary;
  const settings = { bind: '127.0.0.1', port: String(port), save: '', appendonly: 'no' };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const child = await startChild(command, { args, env });
  await child.says(/Ready to accept connections/, 20_000);
  return {
    kill: async () => {
      child.signal('SIGKILL');
      await child.ended;
    },
  };
}
