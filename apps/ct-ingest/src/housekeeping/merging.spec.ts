import type { Merged } from '@certwright/ct-persistence';
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

const runs = async (): Promise<{ level: number; postings: string }[]> =>
  await ingest.database.query('SELECT level, postings FROM ct_run ORDER BY to_position');

it('brings what was ingested together as long as there is something, then rests', async () => {
  const follower = ingest.follower();
  for (let turn = 0; turn < 9; turn += 1) {
    log.add(forgeMany(2, turn));
    await ingest.turn(follower);
  }
  expect(await runs()).toHaveLength(9);
  const merged: [string, Merged][] = [];
  const rounds = merging(
    ingest.database,
    () => new Date(),
    (...what) => merged.push(what),
  );
  expect(await rounds['mergeSmall']?.()).toBe(0);
  expect(await rounds['mergeSmall']?.()).toBe(500);
  expect(await rounds['mergeLarge']?.()).toBe(10_000);
  expect(merged).toMatchObject([['small', { runs: 9, postings: 27 }]]);
  expect(await runs()).toEqual([{ level: 1, postings: '27' }]);
});
