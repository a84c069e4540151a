import { LeaseLost } from '@certwright/postgres';
import { anIssuance, CtDatabaseFixture, keyOf } from '@certwright/ct-testing';
import { pageOfAll, pageOfKeys } from '@certwright/ct-index';
import { readingAlone } from '@certwright/ct-index';
import { CtLogs, type IngestedBatch, type ListedLog, type StopKind } from './ct-logs';
import { logReports } from '@certwright/ct-schema';
import { eventually } from '@certwright/testing';
import type { DataSource, EntityManager } from 'typeorm';
import { evidenceOf, type LogEvidence } from './log-evidence';
import { resumeLog } from './start-again';
import { removeUnverified } from './unverified';

jest.setTimeout(60_000);

let ct: CtDatabaseFixture;
let logs: CtLogs;
const evidence = {
  head: { size: 9n, root: Buffer.alloc(32, 8), at: new Date(0), signed: Buffer.from('another signed') },
  keptSigned: Buffer.from('signed'),
  computed: null,
  proof: [Buffer.alloc(32, 7)],
};

beforeAll(async () => void (ct = await CtDatabaseFixture.open()));
afterAll(async () => await ct.close());
beforeEach(async () => {
  for (const table of [
    'ct_log_evidence',
    'ct_odd_entry',
    'ct_log',
    'ct_issuance',
    'ct_run',
    'ct_block',
    'ct_known',
  ])
    await ct.database.query(`DELETE FROM ${table}`);
  logs = new CtLogs(ct.database);
});

const listed = (name: string, change: Partial<ListedLog> = {}): ListedLog => ({
  logId: Buffer.alloc(32, keyOf(name)),
  description: name,
  operator: 'Spec',
  kind: 'static',
  url: `https://${name}.example.net/`,
  keyDer: Buffer.from('30', 'hex'),
  mmdS: 60,
  intervalStart: null,
  intervalEnd: null,
  listState: 'usable',
  enabled: true,
  ...change,
});
const batch = (from: number, to: number, change: Partial<IngestedBatch> = {}): IngestedBatch => ({
  from: BigInt(from),
  to: BigInt(to),
  issuances: Array.from({ length: to - from }, () => anIssuance('example.com')),
  odd: [],
  treeState: Buffer.alloc(32, to),
  verified: false,
  ...change,
});
const all = async () =>
  (await pageOfAll(readingAlone(ct.database.manager), { after: '0', limit: 1_000 })).issuances;

it('a log has one leaseholder at a time, and the next one when the lease has expired', async () => {
  await logs.keep([listed('one')]);
  const first = await logs.lease(60_000);
  expect(first?.log).toMatchObject({ description: 'one', position: '0' });
  expect(await logs.lease(60_000)).toBeNull();
  await ct.database.query(`UPDATE ct_log SET leased_until = now() - interval '1 second'`);
  const second = await logs.lease(60_000);
  expect(second?.lease.token).not.toBe(first?.lease.token);
  if (first === null || second === null) throw new Error('not leased');
  await expect(logs.ingest(first.lease, batch(0, 3))).rejects.toThrow(LeaseLost);
  expect(await all()).toEqual([]);
  expect(await logs.ingest(second.lease, batch(0, 3))).toEqual({ discovered: 3, completed: 0 });
  await logs.release(second.lease, 0);
  expect((await logs.lease(1_000))?.log.position).toBe('3');
});

it('the position is updated together with the rows: a repeated batch is rejected', async () => {
  await logs.keep([listed('one')]);
  const leased = await logs.lease(60_000);
  if (leased === null) throw new Error('not leased');
  const entries = batch(0, 5, {
    odd: [{ index: 2n, fault: 'not-a-certificate', leaf: Buffer.alloc(100_000, 7) }],
    verified: true,
  });
  await logs.ingest(leased.lease, entries);
  await expect(logs.ingest(leased.lease, entries)).rejects.toThrow(LeaseLost);
  await expect(logs.ingest(leased.lease, batch(6, 8))).rejects.toThrow(LeaseLost);
  const [log] = await logs.all();
  expect(log).toMatchObject({
    position: '5',
    verifiedSize: '5',
    entriesOdd: '1',
    treeState: Buffer.alloc(32, 5),
  });
  const odd: unknown[] = await ct.database.query(
    `SELECT fault, leaf_bytes, octet_length(leaf) AS kept FROM ct_odd_entry`,
  );
  expect(odd).toEqual([{ fault: 'not-a-certificate', leaf_bytes: 100_000, kept: 65_536 }]);
  expect(await all()).toHaveLength(5);
});

it.each([1, 20, 45_000 / 3_600, 39, 8_760, 1e6])(
  'a log that was quiet for %d hours goes on',
  async (hours) => {
    await logs.keep([listed('one')]);
    const leased = await logs.lease(60_000);
    if (leased === null) throw new Error('not leased');
    await logs.ingest(leased.lease, batch(0, 5));
    await ct.database.query(
      `UPDATE ct_log SET entries_per_second = 900, ingested_at = now() - $1 * interval '1 hour'`,
      [hours],
    );
    expect((await logReports(ct.database.manager))[0]?.entriesPerSecond).toBeLessThan(1e-5);
    await logs.ingest(leased.lease, batch(5, 9));
    const [log] = await logs.all();
    expect(log?.position).toBe('9');
    expect(Number(log?.entriesPerSecond)).toBeLessThan(1);
  },
);

it('a failure inside a transaction leaves no rows', async () => {
  await logs.keep([listed('one')]);
  const leased = await logs.lease(60_000);
  if (leased === null) throw new Error('not leased');
  const odd = { index: 1n, fault: 'x', leaf: Buffer.alloc(1) };
  await expect(logs.ingest(leased.lease, batch(0, 5, { odd: [odd, odd] }))).rejects.toThrow('duplicate key');
  expect((await logs.all())[0]?.position).toBe('0');
  await logs.ingest(leased.lease, batch(0, 5));
  expect(await all()).toHaveLength(5);
});

it('an issuance in two logs is stored once, at the position of the first', async () => {
  await logs.keep([listed('one'), listed('other')]);
  const leases = [await logs.lease(60_000), await logs.lease(60_000)];
  const issuances = [anIssuance('example.com')];
  for (const leased of leases) {
    if (leased === null) throw new Error('not leased');
    await logs.ingest(leased.lease, batch(0, 1, { issuances }));
  }
  const page = { after: '0', limit: 10 };
  const { issuances: found } = await pageOfKeys(
    readingAlone(ct.database.manager),
    [keyOf('example.com')],
    page,
  );
  expect(found).toHaveLength(1);
});

it('a log that is no longer listed is not followed; its position is kept in case it is listed again', async () => {
  await logs.keep([listed('one')]);
  const leased = await logs.lease(1);
  if (leased === null) throw new Error('not leased');
  await logs.keep([listed('other')]);
  expect((await logs.all()).map(({ description, enabled }) => [description, enabled])).toEqual([
    ['one', false],
    ['other', true],
  ]);
});

it('a stopped log is not leased', async () => {
  await logs.keep([listed('one')]);
  const leased = await logs.lease(60_000);
  if (leased === null) throw new Error('not leased');
  await logs.stop(leased.lease, 'fork', 'two roots for one size', evidence);
  expect(await logs.lease(60_000)).toBeNull();
  expect((await logs.all())[0]?.stoppedReason).toBe('fork: two roots for one size');
});

it('two processes that remove unproved issuances at once roll the log back to its first unproved entry', async () => {
  await logs.keep([listed('one')]);
  const leased = await logs.lease(60_000);
  if (leased === null) throw new Error('not leased');
  for (const from of [0, 3, 6]) await logs.ingest(leased.lease, batch(from, from + 3));
  await logs.stop(leased.lease, 'root', 'another root', evidence);
  const first = ct.database.createQueryRunner();
  await first.startTransaction();
  await first.query(`SELECT FROM ct_log FOR UPDATE`);
  const other = removeUnverified(ct.database);
  await eventually(async () =>
    expect(await ct.database.query(`SELECT FROM pg_locks WHERE NOT granted`)).toHaveLength(1),
  );
  // Its transactions follow one another so quickly that the other process has seen only the state before them.
  const transaction = async (work: (tx: EntityManager) => Promise<unknown>) => await work(first.manager);
  const query = async (statement: string) => await first.query(statement);
  expect(await removeUnverified({ query, transaction } as unknown as DataSource)).toBe(9);
  await first.commitTransaction();
  await first.release();
  expect(await other).toBe(0);
  expect((await logs.all())[0]).toMatchObject({ position: '0', treeState: Buffer.alloc(0) });
});

describe('evidence', () => {
  const stopFor = async (kind: StopKind, each: LogEvidence) => {
    const leased = await logs.lease(60_000);
    if (leased === null) throw new Error('not leased');
    await logs.stop(leased.lease, kind, 'problem', each);
    await resumeLog(ct.database, leased.log.id);
  };
  const kinds = async () => (await evidenceOf(ct.database)).map(({ kind }) => kind);
  const computed = (byte: number) => ({ size: 9n, root: Buffer.alloc(32, byte) });

  it('of each different contradiction is stored once', async () => {
    await logs.keep([listed('one')]);
    const { head } = evidence;
    const contradictions: [StopKind, LogEvidence][] = [
      ['fork', evidence],
      ['fork', { ...evidence, head: { ...head, root: Buffer.alloc(32, 6) } }],
      ['fork', { ...evidence, keptSigned: Buffer.from('signed by another history') }],
      ['root', { head, keptSigned: null, computed: computed(1), proof: null }],
      ['root', { head, keptSigned: null, computed: computed(2), proof: null }],
      ['rollback', evidence],
      ['rollback', { ...evidence, head: { ...head, at: new Date(1) } }],
    ];
    for (let round = 0; round < 2; round += 1)
      for (const [kind, each] of contradictions) await stopFor(kind, each);
    expect(await kinds()).toEqual(contradictions.map(([kind]) => kind));
  });

  it('is limited per log, and heads that a log does not prove leave room for contradictions', async () => {
    await logs.keep([listed('one')]);
    const leased = await logs.lease(60_000);
    if (leased === null) throw new Error('not leased');
    const of = (nth: number) => ({ ...evidence, head: { ...evidence.head, size: BigInt(nth) } });
    for (let nth = 0; nth < 102; nth += 1)
      expect(await logs.keepUnproven(leased.lease, 'problem', of(nth))).toBe(nth < 100);
    await logs.release(leased.lease, 0);
    for (let nth = 0; nth < 102; nth += 1) await stopFor('root', of(nth));
    const found = await kinds();
    expect([found.length, found.filter((kind) => kind === 'root').length]).toEqual([200, 100]);
  });
});
