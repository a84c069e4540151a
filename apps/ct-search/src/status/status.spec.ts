import { createHash } from 'node:crypto';
import { anIssuance } from '../testing/forged-issuance';
import { RunningSearch } from '../testing/running-search';

jest.setTimeout(60_000);

let search: RunningSearch;
beforeAll(async () => {
  search = await RunningSearch.start();
});
afterAll(async () => await search.stop());

const logColumns = {
  description: 'A log',
  operator: 'Someone',
  kind: 'static',
  url: 'https://log.example.com/',
  key_der: Buffer.from('key'),
  mmd_s: 60,
  list_state: 'usable',
  enabled: true,
  start_index: 10,
  position: 70,
  verified_size: 60,
  head_size: 100,
  head_at: new Date(Date.now() - 30_000),
  entry_at: new Date(Date.now() - 4_000_000),
  entries_odd: 2,
  entries_per_second: 12.34,
  ingested_at: new Date(),
};

async function addLog(columns: Record<string, unknown>): Promise<void> {
  const all: Record<string, unknown> = { ...logColumns, ...columns };
  all['log_id'] = createHash('sha256').update(String(all['description'])).digest();
  const names = Object.keys(all);
  await search.database.query(
    `INSERT INTO ct_log (${names.join(', ')}) VALUES (${names.map((_, at) => `$${at + 1}`).join(', ')})`,
    Object.values(all),
  );
}

it('GET /status returns the progress of each log, and the growth of the index', async () => {
  await addLog({});
  await addLog({
    description: 'Quiet',
    position: 100,
    entry_at: new Date(0),
    entries_per_second: 0,
    last_error: 'x'.repeat(600),
  });
  await addLog({
    description: 'Forked',
    stopped_at: new Date('2026-11-20T10:00:00Z'),
    stopped_reason: 'two heads of one size',
  });
  await addLog({ description: 'Old', enabled: false, kind: 'rfc6962' });
  const ids = await search.store(...Array.from({ length: 120 }, () => anIssuance('example.com')));
  const { status, headers, json } = await search.get('/v1/status');
  expect([status, headers['cache-control'], headers['access-control-allow-origin']]).toEqual([
    200,
    'public, max-age=1',
    '*',
  ]);
  expect(json).toMatchObject({
    as_of: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    issuances: { newest: ids.at(-1), newest_at: expect.stringMatching(/Z$/), per_second: 2 },
    lagging: true,
  });
  const [first, quiet, forked, old] = json.logs;
  expect(first).toMatchObject({
    description: 'A log',
    operator: 'Someone',
    kind: 'static',
    url: 'https://log.example.com/',
    log_id: expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/),
    state: 'followed',
    list_state: 'usable',
    size: 100,
    first: 10,
    position: 70,
    backlog: 30,
    verified_position: 60,
    unverified_entries: 10,
    odd_entries: 2,
    lagging: true,
    last_error: null,
    stopped_reason: null,
  });
  expect(first.entries_per_second).toBeGreaterThan(1);
  expect(first.lag_seconds).toBeGreaterThanOrEqual(4_000);
  expect(quiet).toMatchObject({ backlog: 0, lagging: false });
  expect(quiet.last_error).toHaveLength(501);
  expect(forked).toMatchObject({
    state: 'stopped',
    backlog: null,
    lagging: false,
    stopped_at: '2026-11-20T10:00:00Z',
    stopped_reason: 'two heads of one size',
  });
  expect(old).toMatchObject({ state: 'ended', kind: 'rfc6962', backlog: null });
});

it('reports an age of 0 for the primary', async () => {
  expect(await search.metrics.render()).toContain('certwright_ct_data_age_seconds{process="ct-search"} 0\n');
});

it('needs no key and is cheap: the database is queried once a second', async () => {
  const statements = await search.statementsOf(async () => {
    await Promise.all(Array.from({ length: 50 }, async () => await search.get('/v1/status')));
  });
  expect(statements.length).toBeLessThanOrEqual(4);
});

it('has every member in the OpenAPI document', () => {
  const absent = search.documented.absentMembers();
  expect(absent.filter((member) => /^(Status|IssuanceCounts|Log)\./.test(member))).toEqual([]);
});
