import { baseName } from '@certwright/dns-names';
import { testDatabase, type TestDatabase } from '@certwright/testing';
import { baseNameInSql } from './base-name';

let database: TestDatabase;
beforeAll(async () => void (database = await testDatabase()));
afterAll(async () => await database.dispose());

it.each(['example.com', '*.example.com', '*.*.example.com', 'a.*.example.com', '*example.com', '*.', '*'])(
  'has the base name of %j in SQL as in TypeScript',
  async (name) => {
    const rows = await database.query(
      `SELECT ${baseNameInSql('name')} AS base FROM (SELECT $1::text AS name)`,
      [name],
    );
    expect(rows).toEqual([{ base: baseName(name) }]);
  },
);
