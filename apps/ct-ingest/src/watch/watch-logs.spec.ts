import { CtLogEntity } from '@certwright/ct-schema';
import { WatchLogs } from './watch-logs';

const startMs = Date.parse('2026-06-01T00:00:00Z');
const minute = 60_000;

/** A log with a merge delay of a day that is followed to its end without errors. */
function healthy(change: Partial<CtLogEntity> = {}): CtLogEntity {
  return Object.assign(new CtLogEntity(), {
    ...{ id: 1, description: 'Log', enabled: true, stoppedAt: null, listState: 'usable', mmdS: 86_400 },
    ...{ position: '100', headSize: '100', headAt: new Date(startMs), entryAt: new Date(startMs) },
    ...{ failures: 0, lastError: null, dueAt: new Date(startMs), createdAt: new Date(startMs) },
    ...{ intervalEnd: null, ...change },
  });
}

/** @param rowAt the log's row at each minute @returns minutes at which an alarm started or ended */
async function watched(rowAt: (minutes: number, nowMs: number) => CtLogEntity, minutes = 60) {
  let nowMs = startMs;
  const alarms: string[] = [];
  const at = () => Math.floor((nowMs - startMs) / minute);
  let late = 0;
  const watch = new WatchLogs(
    { all: () => Promise.resolve([rowAt((nowMs - startMs) / minute, nowMs)]) },
    {
      seen: (_, lateMs) => void (late = Math.max(late, lateMs.get(1) ?? 0)),
      lags: () => alarms.push(`lags at ${at()}`),
      caughtUp: () => alarms.push(`caught up at ${at()}`),
      fails: () => undefined,
      recovered: () => undefined,
    },
    () => nowMs,
  );
  while (nowMs < startMs + minutes * minute) nowMs += await watch.run();
  return { alarms, lateMinutes: Math.round(late / minute) };
}

it('has no alarm for a log that responds, even without new entries', async () => {
  const { alarms, lateMinutes } = await watched((_, nowMs) => healthy({ dueAt: new Date(nowMs + 5_000) }));
  expect(alarms).toEqual([]);
  expect(lateMinutes).toBe(0);
});

it('has no alarm for a log in a normal rest of hours', async () => {
  const dueAt = new Date(startMs + 6 * 60 * minute);
  expect((await watched(() => healthy({ listState: 'readonly', dueAt }), 300)).alarms).toEqual([]);
});

it('raises an alarm within 15 minutes while entries of a log are not ingested', async () => {
  const rowAt = (minutes: number) =>
    healthy({ headSize: minutes >= 5 ? '200' : '100', position: minutes >= 30 ? '200' : '100' });
  const { alarms, lateMinutes } = await watched((minutes, nowMs) =>
    Object.assign(rowAt(minutes), minutes < 5 || minutes >= 30 ? { dueAt: new Date(nowMs + 5_000) } : {}),
  );
  expect(alarms).toEqual(['lags at 15', 'caught up at 30']);
  expect(lateMinutes).toBe(25);
});

it('raises an alarm for a log that is ingested occasionally, and lags increasingly', async () => {
  const rowAt = (minutes: number) =>
    healthy({
      headSize: String(100 + Math.floor(minutes) * 10),
      position: String(100 + Math.floor(minutes / 6) * 6),
      dueAt: new Date(startMs + minutes * minute),
    });
  const { alarms } = await watched(rowAt);
  expect(alarms[0]).toMatch(/^lags at 1\d$/);
  expect(alarms.at(-1)).toMatch(/^lags/);
});

it.each([
  ['cannot be fetched', { failures: 3, lastError: 'no response', dueAt: new Date(startMs + 1e9) }],
  ['is not fetched by any process', {}],
])('a log whose head %s has an alarm within 15 minutes', async (_, change) => {
  const { alarms } = await watched(() => healthy(change));
  expect(alarms).toEqual(['lags at 10']);
});

it('has no alarm of this kind for a log that is stopped, or no longer followed', async () => {
  for (const change of [{ enabled: false }, { stoppedAt: new Date(startMs) }])
    expect((await watched(() => healthy({ headSize: '200', ...change }))).alarms).toEqual([]);
});

describe('an alarm of a log that fails', () => {
  const nowMs = Date.UTC(2026, 0, 2);
  let log: Partial<CtLogEntity>;
  let reported: string[];
  let watch: WatchLogs;
  beforeEach(() => {
    log = {
      ...{ id: 1, enabled: true, stoppedAt: null, failures: 0, position: '5', headSize: '5', mmdS: 60 },
      ...{
        headAt: new Date(nowMs),
        entryAt: null,
        createdAt: new Date(0),
        intervalEnd: null,
        listState: 'usable',
      },
    };
    reported = [];
    const report = (event: string) => () => void reported.push(event);
    watch = new WatchLogs(
      { all: async () => await Promise.resolve([log as CtLogEntity]) },
      {
        seen: () => undefined,
        lags: report('lags'),
        caughtUp: report('caughtUp'),
        fails: report('fails'),
        recovered: report('recovered'),
      },
      () => nowMs,
    );
  });

  async function seen(change: Partial<CtLogEntity>): Promise<readonly string[]> {
    Object.assign(log, change);
    reported = [];
    await watch.run();
    return reported;
  }

  it('reports once that a log has failed for minutes, and once that it has recovered', async () => {
    expect(await seen({ failures: 7 })).toEqual([]);
    expect(await seen({ failures: 8 })).toEqual(['fails']);
    expect(await seen({ failures: 9 })).toEqual([]);
    expect(await seen({ failures: 0 })).toEqual(['recovered']);
    expect(await seen({})).toEqual([]);
  });

  it('does not report a stopped log, which has a separate alarm', async () => {
    expect(await seen({ failures: 20, headAt: new Date(0) })).toEqual(['lags', 'fails']);
    expect(await seen({ stoppedAt: new Date(nowMs) })).toEqual(['caughtUp', 'recovered']);
  });
});
