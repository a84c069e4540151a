import { readLogList } from './index';

/** From Chrome's log list of 2022-05-06 and of 2026-04-18, and what one may meet there. */
const aviator = {
  description: "Google 'Aviator' log",
  log_id: 'aPaY+B9kgr46jO65KB1M/HFRXWeT1ETRCmesu09P+8Q=',
  key: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE1/TMabLkDpCjiupacAlP7xNi0I1JYP8bQFAHDG1xhtolSY1l4QgNRzRrvSe8liE+NPWHdjGxfx3JhTsN9x8/6Q==',
  url: 'https://ct.googleapis.com/aviator/',
  mmd: 86400,
  state: {
    readonly: {
      timestamp: '2016-11-30T13:24:18.33Z',
      final_tree_head: {
        sha256_root_hash: 'LcGcZRsm+LGYmrlyC5LXhV1T6OD8iH5dNlb0sEJl9bA=',
        tree_size: 46466472,
      },
    },
  },
};
const argon = {
  description: "Google 'Argon2020' log",
  log_id: 'sh4FzIuizYogTodm+Su5iiUgZ2va+nDnsklTLe+LkF4=',
  key: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE6Tx2p1yKY4015NyIYvdrk36es0uAc1zA4PQ+TGRY+3ZjUTIYY9Wyu+3q/147JG4vNVKLtDWarZwVqGkg6lAYzA==',
  url: 'https://ct.googleapis.com/logs/argon2020',
  mmd: 86400,
  state: { qualified: { timestamp: '2018-02-27T00:00:00Z' } },
  temporal_interval: { start_inclusive: '2018-02-27T00:00:00Z', end_exclusive: '2020-01-01T00:00:00Z' },
};
const sycamore = {
  description: "Let's Encrypt 'Sycamore2026h1'",
  log_id: 'pcl4kl1XRheChw3YiWYLXFVki30AQPLsB2hR0YhpGfc=',
  key: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEfEEe0JZknA91/c6eNl1aexgeKzuGQUMvRCXPXg9L227O5I4Pi++Abcpq6qxlVUKPYafAJelAnMfGzv3lHCc8gA==',
  submission_url: 'https://log.sycamore.ct.letsencrypt.org/2026h1/',
  monitoring_url: 'https://mon.sycamore.ct.letsencrypt.org/2026h1/',
  state: { usable: { timestamp: '2024-09-30T22:19:27Z' } },
};
const list = {
  version: '85.48',
  log_list_timestamp: '2026-04-18T00:00:00Z',
  is_all_logs: true,
  operators: [
    { name: 'Google', email: ['google-ct-logs@googlegroups.com'], logs: [aviator, argon] },
    { name: "Let's Encrypt", email: [], logs: [], tiled_logs: [sycamore], something_new: {} },
  ],
};

const bytes = (base64: string) => Buffer.from(base64, 'base64');
const withLog = (log: unknown) => readLogList({ operators: [{ name: 'o', logs: [log] }] });
const withTiledLog = (log: unknown) => readLogList({ operators: [{ name: 'o', tiled_logs: [log] }] });

it('a log list is read', () => {
  expect(readLogList(list)).toEqual({
    version: '85.48',
    timestamp: Date.UTC(2026, 3, 18),
    faults: [],
    logs: [
      {
        api: 'rfc6962',
        operator: 'Google',
        description: "Google 'Aviator' log",
        logId: bytes(aviator.log_id),
        key: bytes(aviator.key),
        url: 'https://ct.googleapis.com/aviator/',
        mmd: 86400,
        temporalInterval: null,
        state: 'readonly',
        stateSince: Date.UTC(2016, 10, 30, 13, 24, 18, 330),
      },
      {
        api: 'rfc6962',
        operator: 'Google',
        description: "Google 'Argon2020' log",
        logId: bytes(argon.log_id),
        key: bytes(argon.key),
        url: 'https://ct.googleapis.com/logs/argon2020/',
        mmd: 86400,
        temporalInterval: { start: Date.UTC(2018, 1, 27), end: Date.UTC(2020, 0, 1) },
        state: 'qualified',
        stateSince: Date.UTC(2018, 1, 27),
      },
      {
        api: 'static',
        operator: "Let's Encrypt",
        description: "Let's Encrypt 'Sycamore2026h1'",
        logId: bytes(sycamore.log_id),
        key: bytes(sycamore.key),
        submissionUrl: 'https://log.sycamore.ct.letsencrypt.org/2026h1/',
        monitoringUrl: 'https://mon.sycamore.ct.letsencrypt.org/2026h1/',
        mmd: null,
        temporalInterval: null,
        state: 'usable',
        stateSince: Date.UTC(2024, 8, 30, 22, 19, 27),
      },
    ],
  });
});

describe('unknown values are ignored', () => {
  it.each<[string, object, object]>([
    [
      'a state',
      { state: { frozen: { timestamp: '2026-01-01T00:00:00Z' } } },
      { state: null, stateSince: null },
    ],
    ['no state', { state: undefined }, { state: null, stateSince: null }],
    ['a state of nothing', { state: { usable: null } }, { state: 'usable', stateSince: null }],
    ['a state that is a text', { state: 'usable' }, { state: null }],
    ['a state named like a member of every object', { state: { constructor: {} } }, { state: null }],
    ['an mmd in a text', { mmd: '86400' }, { mmd: null }],
    ['a description that is a number', { description: 5 }, { description: '' }],
    ['members', { dns: 'x', log_type: 'test', previous_operators: [], __proto__: { url: 'x' } }, {}],
    [
      'a time that is none',
      { state: { retired: { timestamp: 'soon' } } },
      { state: 'retired', stateSince: null },
    ],
    [
      'a time with an offset',
      { state: { retired: { timestamp: '2026-01-01T01:00:00+01:00' } } },
      { stateSince: Date.UTC(2026, 0, 1) },
    ],
  ])('%s', (_what, members, expected) => {
    expect(withLog({ ...argon, ...members })).toMatchObject({
      faults: [],
      logs: [{ api: 'rfc6962', ...expected }],
    });
  });
});

describe('a log is skipped, and counted, because of', () => {
  it.each<[string, object, string]>([
    ['a key that is no base64', { key: 'key123' }, 'key'],
    ['no key', { key: undefined }, 'key'],
    ['an empty key', { key: '' }, 'key'],
    ["an id that is not the key's", { log_id: sycamore.log_id }, 'log_id'],
    ['no id', { log_id: null }, 'log_id'],
    ['no URL', { url: undefined }, 'url'],
    ['a URL that is none', { url: 'ct.example/log' }, 'url'],
    ['a URL of another scheme', { url: 'file:///etc/passwd' }, 'url'],
    ['a URL with a user', { url: 'https://a:b@ct.example/' }, 'url'],
    ['a URL with a query', { url: 'https://ct.example/?' }, 'url'],
    ['a URL with a fragment', { url: 'https://ct.example/#' }, 'url'],
    ['an interval that cannot be read', { temporal_interval: { start_inclusive: 'x' } }, 'temporal_interval'],
    [
      'an interval that ends before it starts',
      {
        temporal_interval: { start_inclusive: '2026-01-01T00:00:00Z', end_exclusive: '2025-01-01T00:00:00Z' },
      },
      'temporal_interval',
    ],
  ])('%s', (_what, members, fault) => {
    const both = readLogList({ operators: [{ logs: [{ ...argon, ...members }, aviator] }] });
    expect(both).toMatchObject({ logs: [{ description: aviator.description }] });
    expect(both?.faults).toEqual([{ log: argon.description, fault }]);
  });

  it('a tiled log without one of its URLs', () => {
    const { description } = sycamore;
    for (const members of [{ monitoring_url: undefined }, { submission_url: 'x' }])
      expect(withTiledLog({ ...sycamore, ...members })?.faults).toEqual([{ log: description, fault: 'url' }]);
  });

  it('being no object', () => {
    for (const log of [null, 5, 'x', [], {}])
      expect(withLog(log)).toMatchObject({ logs: [], faults: [{ log: '' }] });
  });
});

it.each([null, undefined, 5, 'x', [], {}, { operators: {} }, { operators: null }])(
  '%j is no log list',
  (json) => expect(readLogList(json)).toBeNull(),
);

it('accepts any value for operators', () => {
  expect(readLogList({ operators: [null, 5, {}, { logs: 5, tiled_logs: {} }] })).toEqual({
    version: null,
    timestamp: null,
    logs: [],
    faults: [],
  });
});
