import { dropExpired, ensurePartitions } from '@certwright/ct-index';
import type { RunningProcess } from '@certwright/service';
import { IngestFixture } from '../testing/ingest-fixture';
import { Housekeeping } from './housekeeping';

/** Everything but `Date`. */
const notFaked = [
  ...(['hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate'] as const),
  ...(['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] as const),
];

let ingest: IngestFixture;
beforeAll(async () => {
  ingest = await IngestFixture.open();
});
afterAll(async () => await ingest.close());

const farFuture = new Date('2200-01-01');

/** Excludes the privileges of their owner. */
const grantsOf = async (table: string): Promise<string[]> => {
  const rows = await ingest.database.query<{ grant: string }[]>(
    `SELECT format('%s %s', grantee::regrole, privilege_type) AS grant
     FROM pg_class, aclexplode(relacl) WHERE pg_class.oid = $1::regclass AND grantee <> relowner ORDER BY 1`,
    [table],
  );
  return rows.map(({ grant }) => grant);
};

it('keeps a valid certificate when the clock of the process is hours ahead', async () => {
  await ingest.database.query(
    `INSERT INTO ct_issuance (position, discovered_at, tbs_sha256, cert_sha256, precertificate, spki_sha256, issuer, serial,
       not_before, not_after, dns_names, body)
     VALUES (1, now(), sha256('a'), sha256('b'), false, sha256('c'), 1, '', now(), now() + interval '1 hour', '{}', '')`,
  );
  await ingest.database.query(`UPDATE ct_sequence SET next = 100000`);
  jest.useFakeTimers({ now: Date.now() + 5 * 3_600_000, doNotFake: [...notFaked] });
  try {
    const running = { log: { info: () => undefined } } as unknown as RunningProcess;
    await new Housekeeping(ingest.asIngest, running).dropExpired();
  } finally {
    jest.useRealTimers();
  }
  expect(await ingest.rows('ct_issuance')).toBe(1);
  await ingest.database.query(`DELETE FROM ct_issuance`);
});

it('drops and creates partitions without owning a table, with the grants of the parent tables', async () => {
  await ingest.database.query(`UPDATE ct_sequence SET next = 100000`);
  const dropped = await dropExpired(ingest.asIngest, farFuture);
  expect(dropped).toEqual(expect.arrayContaining(['ct_issuance_p100000', 'ct_block_p100000']));
  expect(dropped.filter((name) => name.startsWith('ct_known_')).length).toBeGreaterThan(40);

  await ensurePartitions(ingest.asIngest, farFuture, 200_000, 200_000);
  for (const [partition, parent] of [
    ['ct_issuance_p200000', 'ct_issuance'],
    ['ct_block_p200000', 'ct_block'],
    ['ct_known_220001', 'ct_known'],
  ] as const) {
    expect((await grantsOf(parent)).length).toBeGreaterThan(0);
    expect(await grantsOf(partition)).toEqual(await grantsOf(parent));
  }
  await ingest.asIngest.query(`DELETE FROM ct_issuance_p200000`);
});

it('creates the partition of a month that already has certificates', async () => {
  const tbs = '00000000-0000-4000-8000-000000000001';
  await ingest.database.query(
    `INSERT INTO ct_known (position, tbs, not_after) VALUES (1, $1, '2204-01-15')`,
    [tbs],
  );
  await ensurePartitions(ingest.asIngest, new Date('2201-01-01'), 200_000, 200_000);
  expect(await ingest.database.query(`SELECT position FROM ct_known_220401 WHERE tbs = $1`, [tbs])).toEqual([
    { position: '1' },
  ]);
});

it.each(['ct_log', 'ct_known_other', 'ct_issuance', 'ct_issuance_p1; DROP TABLE ct_log'])(
  'cannot drop %s',
  async (table) => {
    await expect(ingest.asIngest.query(`SELECT ct_drop_partition($1)`, [table])).rejects.toThrow(
      'is not a partition that may be dropped',
    );
  },
);
