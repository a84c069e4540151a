import type { ServerResponse } from 'node:http';
import { eventually } from '@certwright/testing';
import { FakeLog } from '../testing/fake-log';
import { forgeMany } from '../testing/forged-entries';
import { IngestFixture } from '../testing/ingest-fixture';
import { followLogs } from './following';

jest.setTimeout(180_000);

const logs: FakeLog[] = [];
let ingest: IngestFixture;
beforeAll(async () => void (ingest = await IngestFixture.open()));
afterAll(async () => await ingest.close());
afterEach(async () => {
  await Promise.all(logs.splice(0).map(async (log) => await log.close()));
  await ingest.empty();
});

const begun = '{"entries":[{"leaf_input":"AAAA';

/** How a log responds to requests for entries, or to all requests. */
const faults: Record<string, (response: ServerResponse) => void> = {
  'sends nothing': () => undefined,
  'begins and says no more': (response) => void response.write(begun),
  'says much, and then no more': (response) => void response.write(begun + 'A'.repeat(50_000)),
  drips: (response) => {
    response.write(begun);
    const timer = setInterval(() => response.write('A'), 50);
    response.once('close', () => clearInterval(timer));
  },
};

it('slow or hanging logs do not block others, even if they outnumber the places', async () => {
  const open = new Set<ServerResponse>();
  for (let nth = 0; nth < 8; nth += 1) {
    const log = await FakeLog.open('rfc6962', forgeMany(20));
    logs.push(log);
    const fault = Object.values(faults)[nth % 4];
    log.intercept = (path, response) => {
      // One of each kind does not even return its head.
      if (nth >= 4 && !path.includes('get-entries')) return false;
      open.add(response);
      response.once('close', () => open.delete(response));
      fault?.(response);
      return true;
    };
  }
  await ingest.keep(...logs);
  // They are due first.
  await ingest.database.query(`UPDATE ct_log SET due_at = due_at - interval '1 day'`);
  const slow = logs.length;
  for (let nth = 0; nth < 40; nth += 1)
    logs.push(await FakeLog.open(nth % 2 === 0 ? 'rfc6962' : 'static', forgeMany(20, 100 * nth)));
  await ingest.keep(...logs);
  const follow = ingest.follower({ timeoutMs: 600_000, minResponseRate: 0 });
  const places = { places: 4, placesAside: 8, leaseMs: 60_000, pollMs: 100 };
  const following = followLogs(ingest.logs, follow, places, (error) => ingest.failed.push(error));
  try {
    const healthy = logs.slice(slow);
    await eventually(
      async () => {
        const rows = await ingest.logs.all();
        const whole = healthy.filter((log) => rows.some((row) => isWhole(row, log)));
        expect(whole).toHaveLength(healthy.length);
      },
      { withinMs: 120_000 },
    );
    // All slow ones are still pending: they were requested before the others, and none has ended.
    expect(open.size).toBeGreaterThanOrEqual(slow);
    expect({ unavailable: ingest.unavailable, failed: ingest.failed }).toEqual({
      unavailable: [],
      failed: [],
    });
  } finally {
    await following.stop();
  }
  expect((await ingest.logs.all()).filter(({ leasedUntil }) => leasedUntil !== null)).toEqual([]);
});

function isWhole(row: Awaited<ReturnType<IngestFixture['log']>>, log: FakeLog): boolean {
  return row.logId.equals(log.logId) && row.verifiedSize === '20';
}

it('a response below the minimum rate is aborted, and its log rests', async () => {
  const log = await FakeLog.open('rfc6962', forgeMany(20));
  logs.push(log);
  log.intercept = (path, response) => {
    if (!path.includes('get-entries')) return false;
    faults['drips']?.(response);
    return true;
  };
  await ingest.keep(log);
  const follower = ingest.follower({ timeoutMs: 600_000, minResponseRate: 100_000 });
  expect(await ingest.turn(follower)).toMatchObject({ failures: 1, position: '0', stoppedAt: null });
  expect(ingest.unavailable[0]?.message).toMatch(/cut off: it came at \d+ bytes a second, less than 100000/);
  log.intercept = () => false;
  expect(await ingest.turn(follower)).toMatchObject({ failures: 0, verifiedSize: '20' });
});
