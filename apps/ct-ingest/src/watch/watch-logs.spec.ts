import type { CtLogEntity } from '@certwright/ct-persistence';
import { WatchLogs } from './watch-logs';

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

it('reports neither of a log that is stopped: that has an alarm of its own', async () => {
  expect(await seen({ failures: 20, headAt: new Date(0) })).toEqual(['lags', 'fails']);
  expect(await seen({ stoppedAt: new Date(nowMs) })).toEqual(['caughtUp', 'recovered']);
});
