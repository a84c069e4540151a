import { usedCtSchema } from '@certwright/ct-schema';
import { ctTestDatabase } from '@certwright/ct-testing';
import { schemaCheck } from '@certwright/postgres';
import { Client } from 'pg';

jest.setTimeout(60_000);

// A release with new grants and no new migration, before its `migrate` has run.
it('is not ready before its role has the grants of this release', async () => {
  const database = await ctTestDatabase(500, 1_000);
  const own = new Client({ connectionString: database.urlOf('ct-search') });
  await own.connect();
  const query = async (text: string) => (await own.query<object>(text)).rows;
  const check = schemaCheck(query, usedCtSchema, 'ct-search');
  try {
    const role = new URL(database.urlOf('ct-search')).username;
    await database.query(`REVOKE SELECT (postings) ON ct_run FROM "${role}"`);
    await expect(check()).rejects.toThrow('lacks the privilege SELECT (postings) ON ct_run');
    await database.query(`GRANT SELECT (postings) ON ct_run TO "${role}"`);
    await check();
  } finally {
    await own.end();
    await database.dispose();
  }
});
