import { eventually } from '@certwright/testing';
import { FakeLog } from '../testing/fake-log';
import { forgeMany } from '../testing/forged-entries';
import { IngestFixture } from '../testing/ingest-fixture';

jest.setTimeout(60_000);

let ingest: IngestFixture;
let log: FakeLog;
beforeAll(async () => {
  ingest = await IngestFixture.open();
  log = await FakeLog.open('rfc6962', forgeMany(10));
  await ingest.keep(log);
});
afterAll(async () => {
  await log.close();
  await ingest.close();
});

const unreachable = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

it('a log is released without a failure when the database recovers from an outage during its turn', async () => {
  jest.spyOn(ingest.logs, 'saveHead').mockRejectedValueOnce(unreachable);
  jest.spyOn(ingest.logs, 'release').mockRejectedValueOnce(unreachable);
  const follower = ingest.follower();
  await expect(ingest.turn(follower)).rejects.toBe(unreachable);
  await eventually(async () =>
    expect(await ingest.log()).toMatchObject({ leasedUntil: null, failures: 0, lastError: null }),
  );
  ingest.failed.length = 0;
  expect(await ingest.turn(follower)).toMatchObject({ position: '10', verifiedSize: '10' });
});
