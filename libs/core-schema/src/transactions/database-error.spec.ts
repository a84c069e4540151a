import type { Client } from 'pg';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { coreDataSource } from '../core-data-source';
import { databaseOutage } from '@certwright/errors';
import { isForeignKeyViolation, isUniqueViolation } from './database-error';

let core: CoreDatabaseFixture;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  await core.account('1');
});
afterAll(async () => await core.close());

const errorOf = async (work: () => Promise<unknown>): Promise<unknown> =>
  await work().then(
    () => null,
    (error: unknown) => error,
  );

describe('databaseOutage', () => {
  it('is a service_outage when the connection is refused', async () => {
    const unreachable = coreDataSource({
      url: 'postgres://x@127.0.0.1:1/x',
      applicationName: 'spec',
      poolSize: 1,
      statementTimeoutMs: 1_000,
    });
    expect(databaseOutage(await errorOf(async () => await unreachable.initialize()))).toMatchObject({
      code: 'service_outage',
    });
  });

  it('is a service_outage when the server ends the connection', async () => {
    const error = await errorOf(
      async () => await core.database.query('SELECT pg_terminate_backend(pg_backend_pid())'),
    );
    expect(databaseOutage(error)).toMatchObject({ code: 'service_outage' });
  });

  it('is a service_outage when a transaction loses its connection between two statements', async () => {
    const error = await errorOf(
      async () =>
        await core.transactions.run(async (tx) => {
          const client = (await tx.queryRunner?.connect()) as Client;
          const [{ pid }] = await tx.query<[{ pid: number }]>('SELECT pg_backend_pid() AS pid');
          const lost = new Promise((resolve) => client.once('end', resolve));
          await core.database.query('SELECT pg_terminate_backend($1)', [pid]);
          await lost;
          await tx.query('SELECT 1');
        }),
    );
    expect(databaseOutage(error)).toMatchObject({ code: 'service_outage' });
  });

  it('is a service_outage when a statement takes too long', async () => {
    const error = await errorOf(
      async () =>
        await core.transactions.run(async (tx) => {
          await tx.query(`SET LOCAL statement_timeout = 10`);
          await tx.query(`SELECT pg_sleep(5)`);
        }),
    );
    expect(databaseOutage(error)).toMatchObject({ code: 'service_outage' });
  });

  it('is undefined for an internal error', async () => {
    expect(
      databaseOutage(await errorOf(async () => await core.database.query('SELECT nonsense'))),
    ).toBeUndefined();
  });
});

describe('isUniqueViolation', () => {
  it('identifies the constraint by its name', async () => {
    const error = await errorOf(
      async () => await core.database.query(`INSERT INTO account (id, name) VALUES (1, 'x')`),
    );
    expect(isUniqueViolation(error, 'PK_54115ee388cdb6d86bb4bf5b2ea')).toBe(true);
    expect(isUniqueViolation(error, 'order_v3_name')).toBe(false);
  });
});

describe('isForeignKeyViolation', () => {
  it('identifies the constraint by its name', async () => {
    const error = await errorOf(
      async () =>
        await core.database.query(
          `INSERT INTO cluster_enrolment (account_id, cluster, token_sha256, uses, expires_at) VALUES (1, 'none', '', 1, now())`,
        ),
    );
    expect(isForeignKeyViolation(error, 'FK_ab63c7c8d3730181163571238c4')).toBe(true);
    expect(isForeignKeyViolation(error, 'order_v3_cluster')).toBe(false);
    expect(isUniqueViolation(error, 'FK_ab63c7c8d3730181163571238c4')).toBe(false);
  });
});
