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
    });
    expect(slow).toBeNull();
    await end;
    expect(statements).toBeLessThan(1_000);
    // It is left alone for a while.
    expect(await ct.read(async () => await Promise.resolve('read'))).toBeNull();
    expect(warnings).toEqual(['ct database not read']);
  } finally {
    await pool.end();
    await database.dispose();
  }
});
