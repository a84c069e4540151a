import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { CompactTree, queryKeys } from '@certwright/ct';
import { pageOfKeys, readingAlone, type StoredIssuance } from '@certwright/ct-index';
import { type Child, eventually, otlpCollector, startChild } from '@certwright/testing';
import { FakeLog } from './testing/fake-log';
import { forgeMany, forgePair } from './testing/forged-entries';
import { IngestFixture } from './testing/ingest-fixture';

const workspaceRoot = path.join(__dirname, '../../..');
const main = path.join(workspaceRoot, 'dist/apps/ct-ingest/main.js');
const patience = { withinMs: 60_000 };

jest.setTimeout(180_000);

let ingest: IngestFixture;
const logs: FakeLog[] = [];
const children: Child[] = [];

beforeAll(async () => {
  execFileSync(process.execPath, ['tools/build/build.mjs', 'apps/ct-ingest'], { cwd: workspaceRoot });
  ingest = await IngestFixture.open();
}, 60_000);
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.signal('SIGKILL');
    await child.ended;
  }
  await Promise.all(logs.splice(0).map(async (log) => await log.close()));
  await ingest.empty();
});
afterAll(async () => await ingest.close());

async function opened(kind: FakeLog['kind'], entries: number): Promise<FakeLog> {
  const log = await FakeLog.open(kind, forgeMany(entries));
  logs.push(log);
  return log;
}

/** A log list with the open logs. */
const listFile = () => ingest.file('log-list.json', JSON.stringify(ingest.list(...logs)));

async function startIngest(
  env: Record<string, string> = {},
  nodeOptions: readonly string[] = [],
): Promise<Child> {
  const child = await startChild(process.execPath, {
    args: [...nodeOptions, main],
    env: {
      CT_DATABASE_URL: ingest.roleUrl,
      LOG_LIST: listFile(),
      LOG_LIST_RELOAD: '200ms',
      ALLOWED_NETWORKS: '127.0.0.0/8',
      OPS_PORT: '0',
      LEASE_TIME: '1s',
      POLL_INTERVAL: '100ms',
      REQUESTS_PER_SECOND: '1000',
      PAGE_SIZE: '50',
      ...env,
    },
  });
  children.push(child);
  return child;
}

/** Checks that every entry, and nothing else, was ingested exactly once. */
async function expectWhole(issuances: number): Promise<void> {
  const rows = await ingest.logs.all();
  for (const log of logs) {
    const row = rows.find(({ logId }) => logId.equals(log.logId));
    const size = String(log.head.treeSize);
    expect(row).toMatchObject({ position: size, verifiedSize: size, startIndex: '0' });
    expect(CompactTree.restore(row?.treeState ?? Buffer.alloc(0))?.root()).toEqual(
      log.root(log.head.treeSize),
    );
  }
  const [stored] = await ingest.database.query(
    `SELECT count(*)::int AS rows, count(DISTINCT tbs_sha256)::int AS issuances,
       count(*) FILTER (WHERE precertificate)::int AS incomplete FROM ct_issuance`,
  );
  expect(stored).toEqual({ rows: issuances, issuances, incomplete: 0 });
  // Each name has its own certificate, and all names are below one domain.
  const all = await found('example.com', true);
  const names = all.flatMap(({ dnsNames }) => dnsNames);
  expect([all.length, new Set(names).size]).toEqual([issuances, issuances]);
  expect(await found('example.com', false)).toEqual([]);
  const every20th = names.filter((_, nth) => nth % 20 === 0);
  for (const name of every20th)
    for (const below of [false, true])
      expect((await found(name, below)).map(({ dnsNames }) => dnsNames)).toEqual([[name]]);
}

/** Issuances under the key of a name, or of the tree below it. */
async function found(domain: string, includeSubdomains: boolean): Promise<readonly StoredIssuance[]> {
  const keys = queryKeys({ domain, includeSubdomains, matchWildcards: false });
  const keyBytes = keys.map((key) => Buffer.from(key, 'hex'));
  return (await pageOfKeys(readingAlone(ingest.database.manager), keyBytes, { after: '0', limit: 10_000 }))
    .issuances;
}

const arrived = async () =>
  await eventually(async () => {
    const rows = await ingest.logs.all();
    expect(rows.map(({ verifiedSize }) => verifiedSize)).toEqual(
      logs.map(({ head }) => String(head.treeSize)),
    );
  }, patience);

it('ingests each entry of each log exactly once, with matching roots, when it is killed repeatedly', async () => {
  for (const kind of ['rfc6962', 'static'] as const) {
    const log = await opened(kind, 1_000);
    log.page = 50;
    log.intercept = async () => {
      await new Promise((resolve) => setTimeout(resolve, 10));
      return false;
    };
  }
  const requested = () => logs.reduce((sum, log) => sum + log.requests.length, 0);
  for (let kill = 0; kill < 3; kill += 1) {
    const before = requested();
    // Turns are so short that some batches are stored before the process is killed.
    const child = await startIngest({ PARALLEL_FETCHES: '1', TURN_TIME: '100ms' });
    await eventually(() => expect(requested()).toBeGreaterThan(before + 6 + 4 * kill), patience);
    for (const log of logs) log.add(forgeMany(20, log.entries.length / 2));
    child.signal('SIGKILL');
    await child.ended;
  }
  const last = await startIngest();
  await arrived();
  await expectWhole((1_000 + 3 * 20) / 2);
  expect(last.output()).not.toContain('thread');
});

it('records a span for each turn of a log, with its batches', async () => {
  const log = await opened('static', 300);
  const collector = await otlpCollector();
  try {
    const child = await startIngest({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    await arrived();
    // Sends what it has.
    expect((await child.stop()).code).toBe(0);
    const turns = collector.spans().filter(({ name }) => name === 'follow log');
    const batches = collector.spans().filter(({ name }) => name === 'commit batch');
    expect(turns[0]).toMatchObject({ service: 'ct-ingest', parentSpanId: null });
    const entries = batches.map(({ attributes }) => Number(attributes['certwright.entries']));
    expect(entries.reduce((sum, each) => sum + each, 0)).toBe(log.head.treeSize);
    for (const { parentSpanId } of batches) expect(turns.map(({ spanId }) => spanId)).toContain(parentSpanId);
  } finally {
    await collector.close();
  }
});

it('divides the logs between copies, and a frozen copy writes nothing when it resumes', async () => {
  for (const kind of ['rfc6962', 'static'] as const) await opened(kind, 1_000);
  const late = new AbortController();
  const pages = logs.map(() => 0);
  for (const [nth, log] of logs.entries())
    log.intercept = async (path) => {
      const isPage = path.includes('get-entries') || path.startsWith('/tile/data');
      // During its first batch.
      if (isPage && (pages[nth] = (pages[nth] ?? 0) + 1) === 3) await once(late.signal, 'abort');
      return false;
    };
  const frozen = await startIngest({ PARALLEL_FETCHES: '1' });
  await eventually(() => expect(Math.min(...pages)).toBe(3), patience);
  await freeze(frozen);
  await startIngest();
  for (const log of logs) log.add(forgeMany(300, 500));
  await arrived();
  frozen.signal('SIGCONT');
  late.abort();
  for (const log of logs) log.add(forgeMany(100, 650));
  await arrived();
  await expectWhole(700);
  expect((await frozen.stop()).code).toBe(0);
});

/** Waits until it has no open transaction: one would block others until PostgreSQL ends it. */
async function freeze(child: Child): Promise<void> {
  await eventually(async () => {
    child.signal('SIGSTOP');
    const [{ busy }] = await ingest.database.query<[{ busy: number }]>(
      `SELECT count(*)::int AS busy FROM pg_stat_activity
       WHERE application_name = 'ct-ingest' AND datname = current_database() AND state <> 'idle'`,
    );
    if (busy > 0) child.signal('SIGCONT');
    expect(busy).toBe(0);
  }, patience);
}

it('follows a log that is listed later, stops following one that is delisted, and reports when one is stopped', async () => {
  await opened('rfc6962', 10);
  const child = await startIngest();
  await arrived();
  const bad = await opened('static', 10);
  bad.head = { ...bad.head, rootHash: Buffer.alloc(32, 1) };
  listFile();
  await child.says(/"alarm":"log_stopped".*ALARM/, 20_000);
  expect((await ingest.logs.all()).map(({ stoppedReason }) => stoppedReason?.slice(0, 10))).toEqual([
    undefined,
    'root: The ',
  ]);
  await Promise.all(logs.splice(0, 1).map(async (log) => await log.close()));
  listFile();
  await eventually(async () => expect((await ingest.logs.all())[0]?.enabled).toBe(false), patience);
  expect((await child.stop()).code).toBe(0);
});

it('stays within its memory limit when several logs send entries of 16 MB at once', async () => {
  // The same bytes are sent repeatedly to save memory in this process.
  const huge = forgePair(5_000, { padding: 16_000_000 }).precertificate;
  for (const kind of ['rfc6962', 'rfc6962', 'rfc6962', 'rfc6962', 'rfc6962', 'static'] as const) {
    const log = await opened(kind, 10);
    log.add(Array.from({ length: 3 }, () => huge));
    log.gzip = false;
    log.add(forgeMany(10, 5));
  }
  // The heap limit (MiB) that Node derives in a container with 384 MiB; without one, garbage grows with the memory of the machine.
  const child = await startIngest({ MEMORY_LIMIT: '384', LEASE_TIME: '20s' }, ['--max-heap-size=259']);
  await arrived();
  // Only Linux reports the peak memory of a process.
  if (process.platform === 'linux') {
    const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1];
    expect(Number(peak) / 1_024).toBeLessThan(384);
  }
  expect(await ingest.rows('ct_issuance')).toBe(10);
  expect((await ingest.logs.all()).map(({ entriesOdd }) => entriesOdd)).toEqual(logs.map(() => '3'));
});

it('stores facts about issuers without fetching revocation lists when REVOCATION=off', async () => {
  await ingest.database.query('DELETE FROM ct_issuer_profile');
  await opened('static', 10);
  await startIngest({ REVOCATION: 'off' });
  await eventually(async () => {
    const [{ profiles }] = await ingest.database.query<[{ profiles: number }]>(
      `SELECT count(*)::int AS profiles FROM ct_issuer_profile WHERE caa_domains IS NOT NULL`,
    );
    expect(profiles).toBeGreaterThan(0);
  }, patience);
});

it('does not start when LOGS selects no log', async () => {
  await opened('static', 1);
  const child = await startIngest({ LOGS: 'nonsense' });
  expect((await child.ended).code).toBe(1);
  expect(child.output()).toMatch(/^ct-ingest cannot start: LOGS selects no log of LOG_LIST: allowed are/m);
});

it('does not start with invalid settings', async () => {
  const child = await startIngest({ START: 'yesterday' });
  expect((await child.ended).code).toBe(1);
  expect(child.output()).toMatch(/START has an entry that is not/);
});
