import type { Merged } from '@certwright/ct-index';
import { IssuerProfiles } from '@certwright/issuer-profiles';
import { eventually } from '@certwright/testing';
import { FakeLog } from '../testing/fake-log';
import { forgeMany } from '../testing/forged-entries';
import { IngestFixture } from '../testing/ingest-fixture';
import { merging } from './merging';

jest.setTimeout(60_000);

let ingest: IngestFixture;
let log: FakeLog;
beforeAll(async () => {
  ingest = await IngestFixture.open();
  log = await FakeLog.open('rfc6962', []);
  await ingest.keep(log);
});
afterAll(async () => {
  await log.close();
  await ingest.close();
});

beforeEach(async () => await ingest.database.query('TRUNCATE ct_run, ct_block'));

const ingestInTurns = async (turns: number, seed: number) => {
  const follower = ingest.follower();
  for (let turn = 0; turn < turns; turn += 1) {
    log.add(forgeMany(2, seed + turn));
    await ingest.turn(follower);
  }
  expect(await runs()).toHaveLength(turns);
};
const now = () => new Date();

const runs = async (): Promise<{ level: number; postings: string }[]> =>
  await ingest.database.query('SELECT level, postings FROM ct_run ORDER BY to_position');

it('merges runs until nothing is left, then rests', async () => {
  await ingestInTurns(9, 0);
  const merged: [string, Merged][] = [];
  const { signal } = new AbortController();
  const rounds = merging(ingest.asIngest, now, (...what) => merged.push(what), signal);
  expect(await rounds['mergeSmall']?.()).toBe(0);
  expect(await rounds['mergeSmall']?.()).toBe(500);
  expect(await rounds['mergeLarge']?.()).toBe(10_000);
  expect(merged).toMatchObject([['small', { runs: 9, postings: 27 }]]);
  expect(await runs()).toEqual([{ level: 1, postings: '27' }]);
});

it('aborts a merge without changes when the process stops', async () => {
  await ingestInTurns(8, 20);
  const before = await runs();
  const stopping = new AbortController();
  const merged = jest.fn();
  const rounds = merging(ingest.asIngest, now, merged, stopping.signal);
  const blocking = ingest.database.createQueryRunner();
  await blocking.startTransaction();
  await blocking.query('LOCK TABLE ct_block_young IN ACCESS EXCLUSIVE MODE');
  const round = rounds['mergeSmall']?.();
  await eventually(async () =>
    expect(
      await ingest.database.query(
        `SELECT FROM pg_locks WHERE NOT granted AND relation = 'ct_block_young'::regclass`,
      ),
    ).toHaveLength(1),
  );
  stopping.abort();
  await blocking.commitTransaction();
  await blocking.release();
  expect(await round).toBe(500);
  expect(merged).not.toHaveBeenCalled();
  expect(await runs()).toEqual(before);
});

it('merges while profiles of issuers are stored', async () => {
  await ingestInTurns(8, 40);
  const blocking = ingest.database.createQueryRunner();
  await blocking.startTransaction();
  await blocking.query('LOCK TABLE ct_issuer_profile IN ACCESS EXCLUSIVE MODE');
  const matched = new IssuerProfiles(ingest.asIngest).match();
  await eventually(async () =>
    expect(
      await ingest.database.query(
        `SELECT FROM pg_locks WHERE NOT granted AND relation = 'ct_issuer_profile'::regclass`,
      ),
    ).toHaveLength(1),
  );
  const rounds = merging(ingest.asIngest, now, jest.fn(), new AbortController().signal);
  expect(await rounds['mergeSmall']?.()).toBe(0);
  await blocking.commitTransaction();
  await blocking.release();
  await matched;
});
