import { setTimeout as pause } from 'node:timers/promises';
import { DatabasePool } from '@certwright/postgres';
import { testDatabase } from '@certwright/testing';
import { CtDatabase } from './ct-database.module';

it('does without a database that responds, but takes too long for all statements together', async () => {
  const database = await testDatabase();
  const pool = new DatabasePool({ url: database.url, max: 1 });
  try {
    const warnings: string[] = [];
    const log = { warn: (_members: object, message: string) => void warnings.push(message) };
    const ct = new CtDatabase(pool, log, 200);
    let statements = 0;
    let ended: () => void = () => undefined;
    const end = new Promise<void>((resolve) => (ended = resolve));
    const slow = await ct.read(async (reader) => {
      try {
        for (; statements < 1_000; statements += 1) await reader.query('SELECT pg_sleep(0.02)');
        return 'all';
      } finally {
        ended();
      }
    }, '1');
    expect(slow).toBeNull();
    await end;
    expect(statements).toBeLessThan(1_000);
    // It is left alone for a while, by the account that read too much.
    const read = async (accountId?: string) =>
      await ct.read(async () => await Promise.resolve('read'), accountId);
    expect([await read('1'), await read('2'), await read()]).toEqual([null, 'read', 'read']);
    // And by all others when it does not respond.
    expect(await ct.read(async (reader) => await reader.query('SELECT pg_sleep(0.5)'), '2')).toBeNull();
    expect([await read('2'), await read('3'), await read()]).toEqual([null, null, null]);
    expect(warnings).toEqual(['ct database not read', 'ct database not read']);
  } finally {
    await pool.end();
    await database.dispose();
  }
});

it('gives an account one connection at a time, and others rest only for an outage', async () => {
  let respond: () => void = () => undefined;
  const response = new Promise<void>((resolve) => (respond = resolve));
  const sent: string[] = [];
  const readOnce = async (statement: () => { text: string }) => {
    const { text } = statement();
    sent.push(text);
    if (text !== 'other') await response;
    return { rows: [text] };
  };
  const pool = { readOnce } as unknown as DatabasePool;
  const ct = new CtDatabase(pool, { warn: () => undefined }, 50);
  const read = async (text: string, accountId: string) =>
    await ct.read(async (reader) => await reader.query(text), accountId);
  const first = ct.read(async (reader) => {
    await reader.query('other');
    return await reader.query('large');
  }, '1');
  const second = read('next', '1');
  expect([await read('other', '2'), await first]).toEqual([['other'], null]);
  expect(await read('other', '2')).toEqual(['other']);
  respond();
  // After the one before, which was too much.
  expect(await second).toBeNull();
  expect(sent).toEqual(['other', 'other', 'large', 'other']);
});

it('does not count the wait for other reads of the account as slowness of the database', async () => {
  const readOnce = async (statement: () => { text: string }) => ({
    rows: await pause(150, [statement().text]),
  });
  const ct = new CtDatabase({ readOnce } as unknown as DatabasePool, { warn: () => undefined }, 1_000);
  const texts = Array.from({ length: 10 }, (_, nth) => `${nth}`);
  const read = texts.map(
    async (text) => await ct.read(async (reader) => await reader.query<string[]>(text), '1'),
  );
  expect(await Promise.all(read)).toEqual(texts.map((text) => [text]));
});
