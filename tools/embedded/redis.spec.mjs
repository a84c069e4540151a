import { mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { rawRedis } from '@certwright/testing';
import { places } from '../up/home.mjs';
import { launch, stopChild } from './child.mjs';
import { processesIn } from './process.mjs';
import { packagesToUnpack, redisBinary } from './redis-binaries.mjs';
import { clearRedis, startRedis } from './redis.mjs';

jest.setTimeout(30_000);
let binary;
let folder;

beforeAll(async () => {
  binary = await redisBinary({ cache: places.redisBinaries });
}, 180_000);
beforeEach(() => {
  folder = mkdtempSync(path.join(process.env.CERTWRIGHT_TEST_RUN, 'redis-'));
});
afterEach(async () => {
  await clearRedis(folder);
  rmSync(folder, { recursive: true });
});

async function config(server, name) {
  const redis = rawRedis(server.url);
  try {
    return (await redis.config('GET', name))[1];
  } finally {
    redis.disconnect();
  }
}

it('listens only on loopback, without persistence and eviction', async () => {
  const server = await startRedis({ binary, folder });
  expect(await config(server, 'bind')).toBe('127.0.0.1');
  expect(await config(server, 'protected-mode')).toBe('yes');
  expect(await config(server, 'save')).toBe('');
  expect(await config(server, 'appendonly')).toBe('no');
  expect(await config(server, 'maxmemory-policy')).toBe('noeviction');
});

it('leaves no process when stopped', async () => {
  const server = await startRedis({ binary, folder });
  expect(processesIn(folder, 'redis-server')).toEqual([server.child.pid]);
  await server.stop();
  expect(processesIn(folder, 'redis-server')).toEqual([]);
});

it('stops a server that still runs with the same folder, and no other process of that folder', async () => {
  const bystander = await launch({
    command: 'sleep',
    args: ['60'],
    cwd: folder,
    logFile: path.join(folder, 'log'),
  });
  const first = await startRedis({ binary, folder });
  const second = await startRedis({ binary, folder });
  await first.child.ended;
  expect(processesIn(folder, 'redis-server')).toEqual([second.child.pid]);
  expect(bystander.hasEnded()).toBe(false);
  await stopChild(bystander);
});

it('reports when its port is in use', async () => {
  const { port } = await startRedis({ binary, folder });
  const other = path.join(folder, 'other');
  await expect(startRedis({ binary, folder: other, port })).rejects.toThrow(
    /Redis ended.*Address already in use/s,
  );
});

it('fetches both packages of Redis and every library that they need, including installed ones', () => {
  const printed = [
    'redis-tools',
    '  Depends: adduser',
    '  Depends: libc6',
    '  Depends: libjemalloc2',
    ' |Depends: libsystemd0',
    '  Depends: libelogind0',
    '  Depends: lua-cjson',
    '    lua-json',
    'adduser',
    '  Depends: libpam0g',
    'libsystemd0',
    '  PreDepends: libzstd1',
    'libjemalloc2',
    '  Depends: libc6',
  ].join('\n');
  expect(packagesToUnpack(printed)).toEqual([
    'redis-server',
    'redis-tools',
    'libjemalloc2',
    'libsystemd0',
    'lua-cjson',
    'libzstd1',
  ]);
});

it('prints what to install or set when Redis is neither installed nor available', async () => {
  const { PATH } = process.env;
  process.env.PATH = folder;
  try {
    const missing = redisBinary({ cache: path.join(folder, 'cache') });
    await expect(missing).rejects.toThrow(/apt install redis-server.*REDIS_URL/s);
  } finally {
    process.env.PATH = PATH;
  }
});
