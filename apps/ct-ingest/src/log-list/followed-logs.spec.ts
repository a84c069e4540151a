import { readLogList } from '@certwright/ct';
import { sha256 } from '../testing/forged-entries';
import { followedLogs, WantedLogs } from './followed-logs';
import { perLog } from './per-log';

const now = Date.parse('2026-06-01T00:00:00Z');

const keyOf = (name: string) => Buffer.from(`key of ${name}`);
const listed = (description: string, more: object = {}) => ({
  description,
  key: keyOf(description).toString('base64'),
  log_id: sha256(keyOf(description)).toString('base64'),
  url: `https://${description}.example/`,
  mmd: 86_400,
  state: { usable: {} },
  ...more,
});
const shard = (start: string, end: string) => ({
  temporal_interval: { start_inclusive: `${start}T00:00:00Z`, end_exclusive: `${end}T00:00:00Z` },
});
const followed = (logs: object[], wanted = ['usable'], begun: string[] = [], tiled: object[] = []) => {
  const list = readLogList({ operators: [{ name: 'Operator', logs, tiled_logs: tiled, what: 'ever' }] });
  if (list === null) throw new Error('no list');
  const ids = new Set(begun.map((name) => sha256(keyOf(name)).toString('hex')));
  return followedLogs(list, new WantedLogs(wanted), ids, now);
};
const enabled = (...parameters: Parameters<typeof followed>) =>
  followed(...parameters)
    .filter((log) => log.enabled)
    .map(({ description }) => description)
    .sort();

it('follows logs in one of the states, and those selected by description or URL', () => {
  const logs = [
    listed('one'),
    listed('two', { state: { readonly: {} } }),
    listed('three', { state: { rejected: {} } }),
    listed('four', { state: { somethingNew: {} } }),
  ];
  expect(enabled(logs, ['usable', 'readonly'])).toEqual(['one', 'two']);
  expect(enabled(logs, ['readonly', 'https://three.example'])).toEqual(['three', 'two']);
  expect(enabled(logs, ['FOUR'])).toEqual(['four']);
  expect(enabled(logs, ['unknown'])).toEqual(['four']);
  expect(followed(logs)).toHaveLength(4);
});

it('follows a shard once it is listed, and does not start it after its certificates have expired', () => {
  const logs = [
    listed('coming', shard('2027-01-01', '2027-07-01')),
    listed('present', shard('2026-01-01', '2026-07-01')),
    listed('past', shard('2025-07-01', '2026-01-01')),
    listed('past-and-begun', shard('2025-07-01', '2026-01-01')),
  ];
  expect(enabled(logs, ['usable'], ['past-and-begun'])).toEqual(['coming', 'past-and-begun', 'present']);
});

it('reads a static log at its monitoring URL, and names its checkpoints after its submission URL', () => {
  const tiled = listed('tiled', {
    submission_url: 'https://log.example/2026h2',
    monitoring_url: 'https://mon.example/2026h2/',
    mmd: 60,
  });
  expect(followed([], ['usable'], [], [tiled])).toMatchObject([
    {
      kind: 'static',
      url: 'https://mon.example/2026h2/',
      origin: 'log.example/2026h2',
      mmdS: 60,
      enabled: true,
    },
  ]);
});

it('merges a log that is listed twice', () => {
  expect(followed([listed('one'), listed('one', { url: 'https://other.example/' })])).toMatchObject([
    { url: 'https://one.example/' },
  ]);
});

it('accepts exceptions for logs in a setting, by description or URL', () => {
  const rate = perLog(['5', 'https://a.example/=20', 'Log B = 1'], (text) =>
    /^\d+$/.test(text) ? Number(text) : null,
  );
  expect(rate?.of({ description: 'x', url: 'https://x.example/' })).toBe(5);
  expect(rate?.of({ description: 'A', url: 'https://A.example' })).toBe(20);
  expect(rate?.of({ description: 'log b', url: 'https://b.example/' })).toBe(1);
  expect(perLog(['a=1'], Number)).toBeNull();
  expect(perLog(['x'], () => null)).toBeNull();
});
