import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { Client } from 'pg';
import { clearPostgres, startPostgres } from './postgres.mjs';
import { isAlive, processesIn, send } from './process.mjs';
import { quickFolder } from '../test/run-services.mjs';

const workspaceRoot = path.resolve(__dirname, '../..');
/** Some create a cluster, about a second of work on an idle machine. */
jest.setTimeout(120_000);
const newFolder = () => mkdtempSync(path.join(quickFolder(process.env.CERTWRIGHT_TEST_RUN), 'postgres-'));
/** A stopped server that has a cluster. */
let created;
let folder;

beforeAll(async () => {
  created = newFolder();
  await (await startPostgres({ workspaceRoot, folder: created, durable: false })).stop();
});
beforeEach(() => {
  folder = newFolder();
});
afterEach(async () => {
  await clearPostgres(folder);
  rmSync(folder, { recursive: true });
});
afterAll(() => rmSync(created, { recursive: true }));

const start = (options) => startPostgres({ workspaceRoot, folder, durable: false, ...options });
/** Starts a server whose cluster exists already. */
const startAgain = (options) => {
  if (readdirSync(folder).length === 0) execFileSync('cp', ['-Rp', `${created}/.`, folder]);
  return start(options);
};
const running = () => processesIn(path.join(folder, 'data'), 'postgres');

async function query(server, text, values) {
  const client = new Client({ connectionString: server.url() });
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

it('keeps data and password across a stop, and leaves no process', async () => {
  const first = await start();
  await query(first, 'CREATE TABLE kept AS SELECT 1 AS value');
  await first.stop();
  expect(running()).toEqual([]);
  const second = await start();
  expect(new URL(second.url()).password).toBe(new URL(first.url()).password);
  expect(await query(second, 'SELECT value FROM kept')).toEqual([{ value: 1 }]);
});

it('leaves no process when it is stopped before its start', async () => {
  const first = await startAgain();
  await first.stop();
  const pidFile = path.join(folder, 'postgres.pid');
  for (let round = 0; round < 5; round += 1)
    await expect(start({ pidFile, signal: AbortSignal.abort() })).rejects.toThrow('aborted');
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect([running(), existsSync(pidFile)]).toEqual([[], false]);
});

it('recovers committed data after kill -9', async () => {
  const first = await startAgain({ durable: true });
  await query(first, 'CREATE TABLE committed AS SELECT 1 AS value');
  send(first.child.pid, 'SIGKILL');
  await first.child.ended;
  const second = await startAgain({ durable: true });
  expect(await query(second, 'SELECT value FROM committed')).toEqual([{ value: 1 }]);
});

it('stops a server that still runs with the same folder', async () => {
  const first = await startAgain();
  const second = await startAgain();
  expect(await first.child.ended).toBe('exit code 0');
  expect(await query(second, 'SELECT 1 AS value')).toEqual([{ value: 1 }]);
});

it('starts although postmaster.pid names another running process, as after a reboot, and does not stop that process', async () => {
  const first = await startAgain();
  const lock = path.join(folder, 'data/postmaster.pid');
  const content = readFileSync(lock, 'utf8');
  await first.kill();
  writeFileSync(lock, content.replace(/^\d+/, String(process.pid)));
  const second = await startAgain();
  expect(await query(second, 'SELECT 1 AS value')).toEqual([{ value: 1 }]);
  expect(isAlive(process.pid)).toBe(true);
});

it('listens only on loopback and requires the password', async () => {
  const server = await start();
  expect(await query(server, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
  expect(await query(server, 'SHOW unix_socket_directories')).toEqual([{ unix_socket_directories: '' }]);
  expect(statSync(path.join(folder, 'password')).mode & 0o777).toBe(0o600);
  const wrong = new URL(server.url());
  wrong.password = 'wrong';
  const stranger = new Client({ connectionString: wrong.href });
  await expect(stranger.connect()).rejects.toHaveProperty('code', '28P01');
});

it('is durable by default', async () => {
  const durable = await startAgain({ durable: true });
  expect(await query(durable, 'SHOW fsync')).toEqual([{ fsync: 'on' }]);
  const temporary = await startAgain({ durable: false });
  expect(await query(temporary, 'SHOW fsync')).toEqual([{ fsync: 'off' }]);
});

it('leaves no process and nothing that looks like a database when the first start is interrupted', async () => {
  const stop = new AbortController();
  const starting = start({ signal: stop.signal });
  setImmediate(() => stop.abort(new Error('interrupted')));
  await expect(starting).rejects.toThrow('interrupted');
  expect(running()).toEqual([]);
  expect(existsSync(path.join(folder, 'data'))).toBe(false);
  await start();
});

it('creates the database again after an interrupted first start', async () => {
  mkdirSync(path.join(folder, 'data.unfinished/base'), { recursive: true });
  const server = await start();
  expect(await query(server, 'SELECT 1 AS value')).toEqual([{ value: 1 }]);
  expect(readdirSync(folder)).not.toContain('data.unfinished');
});

it('refuses a folder of another major version with a message', async () => {
  const server = await startAgain();
  await server.stop();
  writeFileSync(path.join(folder, 'data/PG_VERSION'), '17\n');
  await expect(start()).rejects.toThrow(/created by PostgreSQL 17.*DATABASE_URL/s);
});
