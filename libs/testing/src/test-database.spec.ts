import { Client } from 'pg';
import { type TestDatabase, testDatabase } from './test-database';

let mine: TestDatabase;
let other: TestDatabase;

beforeAll(async () => {
  [mine, other] = await Promise.all([testDatabase(), testDatabase()]);
});
afterAll(() => Promise.all([mine.dispose(), other.dispose()]));

const tables = `SELECT count(*)::int AS count FROM information_schema.tables WHERE table_schema = 'public'`;

it('is migrated', async () => {
  const [row] = await mine.query<{ count: number }>(tables);
  expect(row?.count).toBeGreaterThan(0);
});

it('is separate from every other database', async () => {
  await mine.query('CREATE TABLE mark (value text)');
  await mine.query('INSERT INTO mark VALUES ($1)', ['a']);
  expect(await mine.query('SELECT value FROM mark')).toEqual([{ value: 'a' }]);
  await expect(other.query('SELECT value FROM mark')).rejects.toThrow('does not exist');
});

it('is prepared once for all specs that need the same content, also after a failed attempt', async () => {
  const attempts: string[] = [];
  const open = async () =>
    await testDatabase({
      name: `marked_${process.pid}`,
      prepare: async (url) => {
        attempts.push(url);
        const client = new Client({ connectionString: url });
        await client.connect();
        await client.query('CREATE TABLE mark (value text)');
        await client.end();
        if (attempts.length === 1) throw new Error('interrupted');
      },
    });
  await expect(open()).rejects.toThrow('interrupted');
  const opened = await Promise.all([open(), open()]);
  for (const each of opened) expect(await each.query('SELECT value FROM mark')).toEqual([]);
  expect(attempts).toHaveLength(2);
  await Promise.all(opened.map(async (each) => await each.dispose()));
});

it('is gone after dispose, even with open connections', async () => {
  const database = await testDatabase();
  const session = new Client({ connectionString: database.url });
  const cut = new Promise<Error>((resolve) => session.on('error', resolve));
  await session.connect();
  await database.dispose();
  expect(await cut).toHaveProperty('code', '57P01');
  await database.dispose();
  const late = new Client({ connectionString: database.url });
  await expect(late.connect()).rejects.toHaveProperty('code', '3D000');
});
