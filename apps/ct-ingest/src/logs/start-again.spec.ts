import { LeaseLost } from '@certwright/postgres';
import { CtDatabaseFixture } from '@certwright/ct-testing';
import { CtLogs, type LeasedLog } from './ct-logs';
import { LogLeftAlone, restartLog, resumeLog } from './start-again';

let ct: CtDatabaseFixture;
let logs: CtLogs;
let leased: LeasedLog;
const evidence = {
  head: { size: 9n, root: Buffer.alloc(32, 8), at: new Date(0), signed: Buffer.from('another signed') },
  keptSigned: Buffer.from('signed'),
  computed: null,
  proof: [Buffer.alloc(32, 7)],
};

beforeAll(async () => {
  ct = await CtDatabaseFixture.open();
  logs = new CtLogs(ct.database);
});
afterAll(async () => await ct.close());

const head = { size: 9n, root: Buffer.alloc(32, 9), at: new Date(), signed: Buffer.from('signed') };
const odd = (index: bigint) => ({ index, fault: 'leaf', leaf: Buffer.alloc(1) });

/** A log whose entries [2, 5) were ingested with a proof and [5, 7) without one, with one odd entry in each range. */
beforeEach(async () => {
  await ct.database.query('DELETE FROM ct_odd_entry');
  await ct.database.query('DELETE FROM ct_log');
  const keyDer = Buffer.from('30', 'hex');
  await logs.keep([
    {
      ...{
        logId: Buffer.alloc(32, 1),
        keyDer,
        description: 'one',
        operator: 'Spec',
      },
      ...{ kind: 'static', url: 'https://one.example/', mmdS: 60, listState: 'usable', enabled: true },
      ...{ intervalStart: null, intervalEnd: null },
    },
  ]);
  leased = await lease();
  await logs.beginAt(leased.lease, 2n, Buffer.alloc(40, 2));
  await logs.saveHead(leased.lease, head);
  const batch = { issuances: [], treeState: Buffer.alloc(40, 7) };
  await logs.ingest(leased.lease, { ...batch, from: 2n, to: 5n, odd: [odd(3n)], verified: true });
  await logs.ingest(leased.lease, { ...batch, from: 5n, to: 7n, odd: [odd(5n)], verified: false });
});

async function lease(): Promise<LeasedLog> {
  const found = await logs.lease(60_000);
  if (found === null) throw new Error('not leased');
  return found;
}
async function row() {
  const [log] = await logs.all();
  if (log === undefined) throw new Error('no log');
  return log;
}
const restart = async (from: bigint) => await restartLog(ct.database, leased.log.id, from);
const oddIndices = async () =>
  (await ct.database.query<{ entry_index: string }[]>('SELECT entry_index FROM ct_odd_entry')).map(
    ({ entry_index }) => entry_index,
  );

it('a stopped log is resumed from its position, with its stored state', async () => {
  await logs.stop(leased.lease, 'fork', 'two roots', evidence);
  const before = await row();
  await resumeLog(ct.database, leased.log.id);
  expect(await row()).toMatchObject({ stoppedAt: null, stoppedReason: null, failures: 0, lastError: null });
  const again = await lease();
  expect(again.log).toMatchObject({
    position: '7',
    headSize: '9',
    headRoot: head.root,
    treeState: before.treeState,
  });
  await expect(logs.lengthen(leased.lease, 1_000)).rejects.toThrow(LeaseLost);
});

it('a log that is not stopped is not resumed, and one that is being followed is not restarted', async () => {
  await expect(resumeLog(ct.database, leased.log.id)).rejects.toThrow(new LogLeftAlone('not_stopped'));
  await expect(restart(0n)).rejects.toThrow(new LogLeftAlone('followed'));
  expect(await row()).toMatchObject({ position: '7', leaseToken: leased.lease.token });
  await logs.lengthen(leased.lease, 60_000);
});

it('a log with an expired lease can be restarted, and the previous leaseholder writes nothing more', async () => {
  await ct.database.query(`UPDATE ct_log SET leased_until = now() - interval '1 second'`);
  await restart(1n);
  const again = await lease();
  expect(again.log).toMatchObject({ position: '1' });
  await expect(logs.beginAt(leased.lease, 5n, Buffer.alloc(8))).rejects.toThrow(LeaseLost);
});

it('a restarted log loses its tree, its head, and the odd entries that are read again', async () => {
  await logs.stop(leased.lease, 'fork', 'two roots', evidence);
  const forgotten = { startIndex: '2', position: '7', headSize: '9', headRoot: head.root };
  expect(await restart(4n)).toEqual(forgotten);
  expect((await lease()).log).toMatchObject({
    ...{ stoppedAt: null, startIndex: '4', position: '4', verifiedSize: '0', treeState: Buffer.alloc(0) },
    ...{ headSize: '0', headRoot: null, headAt: null, headSigned: null, entriesOdd: '1' },
  });
  expect(await oddIndices()).toEqual(['3']);
});

it('a log that is restarted at 0 has started there, whatever START says', async () => {
  await logs.stop(leased.lease, 'fork', 'two roots', evidence);
  await restart(0n);
  expect(await row()).toMatchObject({ startIndex: '0', position: '0', treeState: Buffer.alloc(8) });
  expect(await oddIndices()).toEqual([]);
});

it('a log whose turn ends while it is restarted can be read again, and keeps no mark of its previous tree', async () => {
  const { database } = ct;
  const transaction = database.transaction.bind(database) as (work: unknown) => Promise<unknown>;
  // The first one removes what is unproved: nothing, since the log is being followed.
  jest.spyOn(database, 'transaction').mockImplementationOnce((async (work: unknown) => {
    const result = await transaction(work);
    await logs.release(leased.lease, 0);
    return result;
  }) as never);
  await restart(0n);
  expect(await row()).toMatchObject({ position: '0', treeState: Buffer.alloc(8) });
  expect(
    await database.query(`SELECT from_entry FROM ct_unverified WHERE log = $1`, [leased.log.id]),
  ).toEqual([]);
  const { lease: again } = await lease();
  const batch = { issuances: [], treeState: Buffer.alloc(40, 8), odd: [], verified: false };
  await logs.ingest(again, { ...batch, from: 0n, to: 5n });
  await logs.ingest(again, { ...batch, from: 5n, to: 9n });
  expect(await row()).toMatchObject({ position: '9' });
});
