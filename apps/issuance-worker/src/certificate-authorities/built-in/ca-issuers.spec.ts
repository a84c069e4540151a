import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@certwright/testing';
import { DataSource } from 'typeorm';
import { coreDataSourceOptions } from '@certwright/core-schema';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { CaIssuers } from './ca-issuers';

let core: CoreDatabaseFixture;
let impatient: DataSource;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  const options = coreDataSourceOptions({
    url: core.url,
    applicationName: 'spec',
    poolSize: 2,
    statementTimeoutMs: 20_000,
  });
  const extra = { ...options.extra, idle_in_transaction_session_timeout: 100 };
  impatient = await new DataSource({ ...options, extra } as typeof options).initialize();
});
afterAll(async () => {
  await impatient.destroy();
  await core.close();
});

it('creates once with concurrent starts and slow key generation', async () => {
  const issuers = new CaIssuers(impatient);
  let created = 0;
  const create = async () => {
    created += 1;
    // The server would have ended an idle transaction by now.
    await delay(400);
    return { root: Buffer.of(1), intermediate: Buffer.of(2) };
  };
  // The server may end a slow one before creation begins.
  const ensured = async () => await eventually(async () => await issuers.ensure(create));
  const both = await Promise.all([ensured(), ensured()]);
  expect(both).toEqual(Array(2).fill({ root: Buffer.of(1), intermediate: Buffer.of(2) }));
  expect(created).toBe(1);
  expect(await core.database.query(`SELECT certificate FROM ca_issuer WHERE name = 'root'`)).toEqual([
    { certificate: Buffer.of(1) },
  ]);
});
