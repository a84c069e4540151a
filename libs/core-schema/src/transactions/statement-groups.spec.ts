import type { EventEmitter } from 'node:events';
import { databaseOutage } from '@certwright/errors';
import { type TestDatabase, testDatabase } from '@certwright/testing';
import type { Client } from 'pg';
import { preparingDriver } from './preparing-client';

let database: TestDatabase;
let client: Client;
let readyCount = 0;

beforeAll(async () => {
  database = await testDatabase();
  await database.query('CREATE TABLE stored (item int UNIQUE)');
});
afterAll(async () => await database.dispose());
beforeEach(async () => {
  client = new preparingDriver.Client({ url: database.url });
  await client.connect();
  const { connection } = client as unknown as { connection: EventEmitter };
  connection.on('readyForQuery', () => (readyCount += 1));
  await client.query('TRUNCATE stored');
  readyCount = 0;
});
afterEach(async () => await client.end());

const store = async (item: unknown) => {
  const { rows } = await client.query<{ item: number }>('INSERT INTO stored VALUES ($1) RETURNING item', [
    item,
  ]);
  return rows[0]?.item;
};
const outcomes = async (all: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(all)).map((each) =>
    each.status === 'fulfilled'
      ? each.value
      : ((each.reason as { code?: string }).code ?? String(each.reason)),
  );
const stored = async () =>
  (await database.query<{ item: number }>('SELECT item FROM stored ORDER BY item')).map(({ item }) => item);

it('ends statements of one turn with one Sync, with the start of their transaction', async () => {
  await client.query('START TRANSACTION');
  expect(await outcomes([store(1), store(2), store(3)])).toEqual([1, 2, 3]);
  expect(await outcomes([store(4), store(5)])).toEqual([4, 5]);
  await client.query('COMMIT');
  expect(readyCount).toBe(3);
  expect(await stored()).toEqual([1, 2, 3, 4, 5]);
});

it.each([
  [
    [1, 1, 2],
    [1, '23505', '25P02'],
  ],
  [
    [1, 2, 1],
    [1, 2, '23505'],
  ],
  [
    ['x', 1, 2],
    ['22P02', '25P02', '25P02'],
  ],
])('fails the statements after a failed one, as without a group: %j', async (items, expected) => {
  for (let round = 0; round < 3; round += 1) {
    await client.query('START TRANSACTION');
    expect(await outcomes(items.map(store))).toEqual(expected);
    await client.query('ROLLBACK');
    expect(await outcomes([store(7)])).toEqual([7]);
    await client.query('TRUNCATE stored');
  }
});

it('lets none fail with another one outside of a transaction', async () => {
  expect(await outcomes([store(1), store(1), store(2)])).toEqual([1, '23505', 2]);
  expect(await stored()).toEqual([1, 2]);
});

it('gives each statement its own result when a parameter of one cannot be converted', async () => {
  const circular: { self?: unknown } = {};
  circular.self = circular;
  await client.query('START TRANSACTION');
  const failing = async () => await client.query('SELECT $1::json', [circular]);
  const all = await outcomes([store(1), failing(), store(2), store(3)]);
  expect(all).toEqual([1, expect.stringContaining('circular'), 2, 3]);
  await client.query('COMMIT');
  expect(await stored()).toEqual([1, 2, 3]);
});

it('runs no statement whose transaction did not start', async () => {
  await client.query('BEGIN');
  await client.query('SELECT 1 / 0').catch(() => undefined);
  await client.query('START TRANSACTION');
  expect(await outcomes([store(1)])).toEqual(['25P02']);
  await client.query('ROLLBACK');

  const [row] = (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows;
  await database.query('SELECT pg_terminate_backend($1, 10000)', [row?.pid]);
  await client.query('START TRANSACTION');
  const error: unknown = await store(1).catch((caught: unknown) => caught);
  expect(databaseOutage(error)).toMatchObject({ code: 'service_outage' });
  expect(await stored()).toEqual([]);
});

it('keeps the order of statements without parameters, which wait for the start', async () => {
  await client.query('START TRANSACTION');
  const lines = ['first', 'second', 'third'];
  const say = async (text: string, values?: unknown[]) =>
    (await client.query<{ line: string }>(text, values)).rows[0]?.line;
  const said = [
    say(`SELECT 'first' AS line`),
    say('SELECT $1 AS line', ['second']),
    say(`SELECT 'third' AS line`),
  ];
  expect(await Promise.all(said)).toEqual(lines);
  await client.query('ROLLBACK');
  await client.query('START TRANSACTION');
  await client.query('COMMIT');
  expect(await outcomes([store(1)])).toEqual([1]);
});
