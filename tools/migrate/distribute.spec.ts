import { execFileSync, spawnSync } from 'node:child_process';
import path from 'node:path';
import {
  ensurePartitions,
  IssuerIds,
  mergeRuns,
  type NewIssuance,
  pageOfAll,
  pageOfKeys,
  readingAlone,
  storeIssuances,
} from '@certwright/ct-index';
import { ctDataSource } from '@certwright/ct-schema';
import { anIssuance, keyOf } from '@certwright/ct-testing';
import { citusDatabase, citusUrl, testDatabase, type TestDatabase } from '@certwright/testing';
import type { DataSource } from 'typeorm';

jest.setTimeout(300_000);

const workspaceRoot = path.join(__dirname, '../..');
const migrate = path.join(workspaceRoot, 'dist/tools/migrate/main.js');

// Builds the command.
beforeAll(
  () => void execFileSync(process.execPath, ['tools/run.mjs', 'migrate', '--help'], { cwd: workspaceRoot }),
);

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `npm run migrate -- --database ct`, with more arguments. */
function run({ rolePrefix }: TestDatabase, url: string, ...args: readonly string[]): Ended {
  const env = { ...process.env, CT_DATABASE_URL: url, DATABASE_ROLE_PREFIX: rolePrefix };
  return spawnSync(process.execPath, [migrate, '--database', 'ct', ...args], { env, encoding: 'utf8' });
}

/** Tables, migrations, distribution and settings of a database. */
async function stateOf(database: TestDatabase, hasCitus: boolean): Promise<unknown> {
  const [state] = await database.query(
    `SELECT ARRAY(SELECT relname || relacl::text FROM pg_class WHERE relname LIKE 'ct\\_%' ORDER BY 1) AS tables,
       ARRAY(SELECT setconfig::text FROM pg_db_role_setting
         WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY setrole) AS settings`,
  );
  if (!hasCitus) return state;
  return {
    state,
    distributed: await database.query('SELECT * FROM pg_dist_partition ORDER BY logicalrelid'),
  };
}

async function expectRefusal(database: TestDatabase, url: string, line: RegExp, hasCitus = true) {
  const before = await stateOf(database, hasCitus);
  const { status, stdout, stderr } = run(database, url, '--distribute');
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(line);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect(await stateOf(database, hasCitus)).toEqual(before);
}

it('refuses a server without Citus before it migrates', async () => {
  const database = await testDatabase();
  // Not through a pooler: migrations need sessions.
  const url = new URL(process.env['CERTWRIGHT_TEST_DATABASE_URL'] ?? '');
  url.pathname = new URL(database.url).pathname;
  await expectRefusal(
    database,
    url.href,
    /^The ct database has no extension Citus: .* run CREATE EXTENSION citus/,
    false,
  );
  const [{ table }] = (await database.query(`SELECT to_regclass('ct_migration') AS table`)) as [
    { table: unknown },
  ];
  expect(table).toBeNull();
  await database.dispose();
});

const describeOnCitus = (title: string, body: () => void) =>
  citusUrl() === undefined ? describe.skip(`${title} (CITUS_URL is not set)`, body) : describe(title, body);

describeOnCitus('a database on Citus', () => {
  let database: TestDatabase;
  beforeEach(async () => (database = await citusDatabase(async () => await Promise.resolve())));
  afterEach(async () => await database.dispose());

  it('refuses a database without workers, and one without the address of its coordinator', async () => {
    const remove = async (nodes: string) =>
      await database.query(`SELECT citus_remove_node(nodename, nodeport) FROM pg_dist_node WHERE ${nodes}`);
    await remove('groupid <> 0');
    await expectRefusal(
      database,
      database.url,
      /^Citus has no workers: run SELECT citus_add_node\(host, port\)/,
    );
    await remove('groupid = 0');
    await expectRefusal(
      database,
      database.url,
      /^Citus does not know the address of its coordinator: run SELECT citus_set_coordinator_host\(host, port\)/,
    );
  });

  it.each([
    [
      'ct_run',
      'as a reference table',
      /: Citus cannot undo this\. Restore a dump .* into a new database, and distribute/,
    ],
    [
      'ct_issuance',
      'by hash of position',
      /: run SELECT undistribute_table\('ct_issuance'\) in the ct database, and/,
    ],
  ])('refuses %s in a single shard, before it distributes other tables', async (table, how, advice) => {
    expect(run(database, database.url)).toMatchObject({ status: 0 });
    await database.query(`SELECT create_distributed_table('${table}', NULL)`);
    const line = new RegExp(`^${table} is distributed in a single shard, and not ${how}${advice.source}`);
    await expectRefusal(database, database.url, line);
    const undistributed = database.query(`SELECT undistribute_table('${table}')`);
    // Follows the advice, or shows that there is no other.
    if (table === 'ct_run') await expect(undistributed).rejects.toThrow('identity column');
    else {
      await undistributed;
      expect(run(database, database.url, '--distribute')).toMatchObject({ status: 0, stderr: '' });
    }
  });

  describe('with issuances', () => {
    const names = Array.from({ length: 17 }, (_, nth) => `www.zone${nth}.example.com`);
    const ids = new IssuerIds();
    let known: NewIssuance[];
    let writer: DataSource;
    let reader: DataSource;

    const connect = async (name: string) =>
      await ctDataSource({
        ...{ url: database.urlOf(name), applicationName: name, poolSize: 2, statementTimeoutMs: 60_000 },
      }).initialize();

    /** As ct-ingest does: some runs are merged, some are not. */
    async function store(count: number): Promise<void> {
      const perCommit = 13;
      for (let stored = 0; stored < count; stored += perCommit) {
        const batch = Array.from({ length: perCommit }, (_, nth) => {
          const at = known.length + nth;
          const dnsNames = [...new Set([at % 17, (at * 5) % 17].map((name) => names[name] ?? ''))];
          const nameKeys = dnsNames.map((name) => keyOf(name).toString('hex'));
          return anIssuance('', { dnsNames, nameKeys, body: Buffer.from(`\0${at}`) });
        });
        await ids.ensure(
          writer.manager,
          batch.map(({ issuer }) => issuer),
        );
        await writer.transaction(async (tx) => await storeIssuances(tx, ids, batch, []));
        known.push(...batch);
      }
    }
    async function merge(): Promise<number> {
      let merges = 0;
      for (const lane of ['small', 'large'] as const)
        while ((await mergeRuns(writer, lane, new Date())) !== null) merges += 1;
      return merges;
    }

    /** Every page of every name, and of all, as `[position, digest]`. */
    async function expectTruth(): Promise<void> {
      const all = known.map(({ tbsSha256, dnsNames }, nth) => ({ dnsNames, row: `${nth + 1} ${tbsSha256}` }));
      const follow = async (page: (after: string) => ReturnType<typeof pageOfAll>) => {
        const found: string[] = [];
        for (let after = '0'; ;) {
          const { issuances } = await page(after);
          if (issuances.length === 0) return found;
          found.push(
            ...issuances.map(({ position, digests }) => `${position} ${digests.toString('hex', 0, 32)}`),
          );
          after = issuances.at(-1)?.position ?? '';
        }
      };
      const pages = readingAlone(reader.manager);
      for (const name of names)
        expect(
          await follow(async (after) => await pageOfKeys(pages, [keyOf(name)], { after, limit: 10 })),
        ).toEqual(all.filter(({ dnsNames }) => dnsNames.includes(name)).map(({ row }) => row));
      expect(await follow(async (after) => await pageOfAll(pages, { after, limit: 100 }))).toEqual(
        all.map(({ row }) => row),
      );
    }

    it('moves them to the workers, has the same pages, stores and merges more, and does nothing twice', async () => {
      expect(run(database, database.url)).toMatchObject({ status: 0 });
      const owner = await ctDataSource({
        ...{ url: database.url, applicationName: 'spec', poolSize: 1, statementTimeoutMs: 60_000 },
      }).initialize();
      await ensurePartitions(owner, new Date(), 1_500, 100);
      await owner.destroy();
      known = [];
      const open = async () => ([writer, reader] = [await connect('ct-ingest'), await connect('ct-search')]);
      const close = async () => await Promise.all([writer.destroy(), reader.destroy()]);
      await open();
      await store(350);
      expect(await merge()).toBeGreaterThan(0);
      await store(50);
      await expectTruth();
      await close();

      expect(run(database, database.url, '--distribute')).toMatchObject({
        ...{ status: 0, stderr: '' },
        stdout: expect.stringMatching(/^distributed over 2 workers: ct_run, ct_block, ct_issuance\. Start/m),
      });
      const [moved] = await database.query(
        `SELECT (SELECT count(*)::int FROM ct_issuance) AS rows, (SELECT sum(pg_relation_size(oid))::int FROM pg_class
           WHERE relkind = 'r' AND (relname = 'ct_run' OR relname ~ '^ct_(issuance|block)_p[0-9]+$')) AS "localBytes",
           (SELECT count(DISTINCT nodeport)::int FROM citus_shards WHERE table_name = 'ct_issuance_p100'::regclass) AS servers`,
      );
      expect(moved).toEqual({ rows: known.length, localBytes: 0, servers: 2 });

      const distributed = await stateOf(database, true);
      expect(run(database, database.url, '--distribute')).toMatchObject({
        ...{ status: 0, stderr: '' },
        stdout: expect.stringMatching(/^The tables of ct are distributed over 2 workers already\.$/m),
      });
      expect(await stateOf(database, true)).toEqual(distributed);

      await open();
      await expectTruth();
      const again = known.slice(40, 80);
      expect(await writer.transaction(async (tx) => await storeIssuances(tx, ids, again, []))).toMatchObject({
        discovered: 0,
      });
      await store(350);
      await expectTruth();
      expect(await merge()).toBeGreaterThan(0);
      await expectTruth();
      await close();
    });
  });
});
