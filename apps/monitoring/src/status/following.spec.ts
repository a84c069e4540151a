import type { LogReport } from '@certwright/ct-schema';
import { indexDelayS, isWatching, troubledLogs } from './following';
import { completeness } from './status';

const nowMs = Date.parse('2026-11-20T12:00:00Z');
const ago = (seconds: number) => new Date(nowMs - 1_000 * seconds);

const log = (operator: string, lagS: number, change: Partial<LogReport> = {}): LogReport => ({
  ...{
    logId: Buffer.alloc(32),
    description: `${operator} log`,
    operator,
    kind: 'static',
    url: 'https://log/',
  },
  ...{ listState: 'usable', enabled: true, mmdS: 60, intervalEnd: null, startIndex: '0', position: '5' },
  ...{ verifiedSize: '5', headSize: '5', headAt: ago(lagS), entryAt: ago(lagS), entriesPerSecond: 0 },
  ...{ entriesOdd: '0', lastError: null, stoppedAt: null, stoppedReason: null, createdAt: ago(1e6) },
  ...change,
});

it.each<[string, readonly LogReport[], number]>([
  ['no logs', [], 0],
  ['no lag', [log('A', 10), log('B', 359)], 0],
  ['logs of one operator', [log('A', 4_060), log('A', 9_060), log('B', 10)], 0],
  ['logs of two operators', [log('A', 4_060), log('A', 9_060), log('B', 7_060), log('C', 10)], 7_000],
  ['all logs, of one operator', [log('A', 4_060), log('A', 9_060)], 4_000],
  ['all logs of which one is stopped', [log('A', 4_060), log('B', 10, { stoppedAt: ago(9) })], 4_000],
  [
    'only logs that are stopped',
    [log('A', 4_060, { stoppedAt: ago(9) }), log('B', 9_060, { stoppedAt: ago(9) })],
    4_000,
  ],
  ['logs that are not followed', [log('A', 4_060, { enabled: false }), log('B', 10)], 0],
  ['a log that is slow itself', [log('A', 86_000, { mmdS: 86_400 })], 0],
])('an index with a lag of %s', (_what, logs, delayS) => {
  expect(indexDelayS(logs, nowMs)).toBe(delayS);
});

it('names logs that lag or are stopped', () => {
  const troubled = [log('A', 4_060), log('B', 10, { stoppedAt: ago(9) })];
  expect(troubledLogs([...troubled, log('C', 10), log('D', 4_060, { enabled: false })], nowMs)).toEqual(
    troubled,
  );
});

it.each([
  [true, { is_leased: true, unmoved_s: 300 }],
  [false, { is_leased: true, unmoved_s: 301 }],
  [false, { is_leased: false, unmoved_s: 1 }],
])('is watching: %s with %j', (watching, follower) => {
  expect(isWatching({ followed_to: ago(9_000), lag_s: 9_000, ...follower })).toBe(watching);
  expect(isWatching(null)).toBe(false);
});

it.each<[string, readonly LogReport[] | null, boolean | null, string | null]>([
  ['that is unavailable', null, null, null],
  ['without logs', [], false, null],
  ['with each log from its beginning', [log('A', 10)], true, null],
  [
    'that is behind one of several logs',
    [log('A', 10), log('B', 10), log('C', 1e6, { position: '4' })],
    true,
    null,
  ],
  ['that has not been filled yet', [log('A', 1e6, { position: '4' })], false, null],
  [
    'that is behind logs from some entry on',
    [log('A', 4_060), log('B', 7_060, { startIndex: '7' })],
    false,
    null,
  ],
  [
    'with logs from some entry on',
    [
      log('A', 10, { startIndex: '7', createdAt: ago(3_600) }),
      log('B', 10, { startIndex: '7', createdAt: ago(60) }),
      log('C', 10, { startIndex: '7', createdAt: ago(10), intervalEnd: ago(5) }),
    ],
    false,
    '2026-11-20T11:59:00Z',
  ],
])('the completeness of an index %s', (_what, logs, complete, holds_since) => {
  expect(completeness(logs, new Date(nowMs))).toEqual({ complete, holds_since });
});
