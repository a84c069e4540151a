import type { CrlCounts, StaleCrl } from './store/ct-crls';
import { WatchCrls } from './watch-crls';

const crl = (id: number): StaleCrl => ({ id, url: `http://a/${id}.crl`, nextUpdate: null, lastError: null });

it('reports once that a list is out of date, and once that it is fresh again', async () => {
  let stale: readonly StaleCrl[] = [];
  const reported: string[] = [];
  const counts: CrlCounts = { wanted: 3, fresh: 1, stale: 2, failing: 0, overdue: 0, entries: 7 };
  const watch = new WatchCrls(
    { counts: async () => counts, stale: async () => stale },
    {
      counted: ({ entries }) => void reported.push(`counted ${entries}`),
      wentStale: ({ id }) => void reported.push(`stale ${id}`),
      freshAgain: ({ id }) => void reported.push(`fresh ${id}`),
    },
  );
  const looks: readonly (readonly StaleCrl[])[] = [[], [crl(1)], [crl(1), crl(2)], [crl(2)], []];
  for (const look of looks) {
    stale = look;
    expect(await watch.run()).toBeGreaterThan(0);
  }
  expect(reported.filter((each) => !each.startsWith('counted'))).toEqual([
    'stale 1',
    'stale 2',
    'fresh 1',
    'fresh 2',
  ]);
  expect(reported.filter((each) => each === 'counted 7')).toHaveLength(5);
});
