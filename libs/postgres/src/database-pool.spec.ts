import { eventually, type SeverableLink, severableLink, testDatabase } from '@certwright/testing';
import { DatabasePool } from './database-pool';

let database: Awaited<ReturnType<typeof testDatabase>>;
let link: SeverableLink;
let pool: DatabasePool;

beforeEach(async () => {
  database = await testDatabase();
  const url = new URL(database.url);
  link = await severableLink({ host: url.hostname, port: Number(url.port) });
  url.host = `127.0.0.1:${link.port}`;
  pool = new DatabasePool({ url: url.href, max: 1 });
});
afterEach(async () => {
  await pool.end();
  await link.close();
  await database.dispose();
});

const one = async () => (await pool.query<{ one: number }>('SELECT 1 AS one')).rows;

/** Ends the session from the server's side, as an immediate shutdown does. */
async function terminate(): Promise<void> {
  await database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
}

describe.each([
  ['the server ends it', async () => await terminate()],
  ['its network connection is cut', async () => await Promise.resolve(link.cut())],
])('a connection that is lost when %s', (_how, lose) => {
  it('rejects the statement under way', async () => {
    const client = await pool.connect();
    const slept = client.query('SELECT pg_sleep(60)').catch((error: unknown) => error);
    await eventually(async () => {
      const asleep = await database.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`,
      );
      expect(asleep).toHaveLength(1);
    });
    await lose();
    expect(await slept).toBeInstanceOf(Error);
    client.release(true);
    link.restore();
    expect(await one()).toEqual([{ one: 1 }]);
  });

  it('rejects the next statement on a checked-out connection', async () => {
    const client = await pool.connect();
    const ended = new Promise((resolve) => client.once('end', resolve));
    await lose();
    await ended;
    await expect(client.query('SELECT 1')).rejects.toThrow();
    client.release(true);
    link.restore();
    expect(await one()).toEqual([{ one: 1 }]);
  });

  it('is replaced when it was idle', async () => {
    await one();
    const gone = new Promise((resolve) => pool.once('remove', resolve));
    await lose();
    await gone;
    link.restore();
    expect(await one()).toEqual([{ one: 1 }]);
  });
});

it('replaces a connection whose server has become a standby', async () => {
  const server = async () =>
    (await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows.map(({ pid }) => pid);
  const before = await server();
  // What a client sees whose server was demoted.
  await pool.query('SET default_transaction_read_only = on');
  await expect(pool.query('CREATE TABLE written (id integer)')).rejects.toMatchObject({ code: '25006' });
  await pool.query('CREATE TABLE written (id integer)');
  expect(await server()).not.toEqual(before);
  await expect(pool.query('SELECT 1 / 0')).rejects.toMatchObject({ code: '22012' });
  expect(await server()).toEqual(await server());
});
