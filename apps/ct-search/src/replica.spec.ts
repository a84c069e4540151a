import { rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ensurePartitions } from '@certwright/ct-index';
import { ctDataSource } from '@certwright/ct-schema';
import { createLogger } from '@certwright/service';
import { eventually } from '@certwright/testing';
import { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { IndexReaders } from './ct-index/index-readers';
import { anIssuance } from './testing/forged-issuance';
import { RunningSearch } from './testing/running-search';

jest.setTimeout(120_000);

const workspaceRoot = path.join(__dirname, '../../..');

/** A primary and its streaming replica. */
interface PostgresPair {
  readonly directUrl: string;
  readonly replicaUrl: string;
  start(): Promise<void>;
  addReplica(): Promise<void>;
  stop(): Promise<void>;
}

interface Faults {
  readonly PostgresPair: new (
    name: string,
    database: string,
    signal: AbortSignal,
    folder: string,
  ) => PostgresPair;
}

const folder = path.join(process.env['CERTWRIGHT_TEST_RUN'] ?? '', 'quick', `replica-${process.pid}`);

let pair: PostgresPair;
let primary: DataSource;
let replica: Client;
let readers: IndexReaders;
let search: RunningSearch;

beforeAll(async () => {
  const { PostgresPair } = (await import(
    path.join(workspaceRoot, 'tools/faults/monitoring/postgres-pair.mjs')
  )) as Faults;
  pair = new PostgresPair('ct', 'ct', new AbortController().signal, folder);
  await pair.start();
  const limits = { statementTimeoutMs: 60_000 };
  primary = ctDataSource({ url: pair.directUrl, applicationName: 'spec', poolSize: 4, ...limits });
  await primary.initialize();
  await primary.runMigrations({ transaction: 'each' });
  await ensurePartitions(primary, new Date(), 6_000, 500);
  // A query on the replica never delays what the primary did.
  await primary.query('ALTER SYSTEM SET max_standby_streaming_delay = 0');
  await primary.query('SELECT pg_reload_conf()');
  await pair.addReplica();
  replica = new Client({ connectionString: pair.replicaUrl });
  await replica.connect();
  const log = createLogger('spec', 'silent');
  readers = new IndexReaders({ url: pair.replicaUrl, poolSize: 2, log });
  search = await RunningSearch.start({ CT_DATABASE_URL: pair.replicaUrl }, pair.directUrl);
});
afterAll(async () => {
  await search?.stop();
  await readers?.close();
  await replica?.end();
  await primary?.destroy();
  await pair?.stop();
  rmSync(folder, { recursive: true, force: true });
});

type Conflict = 'snapshot' | 'lock';

async function conflicts(kind: Conflict): Promise<number> {
  const { rows } = await replica.query<{ count: string }>(
    `SELECT confl_${kind} AS count FROM pg_stat_database_conflicts WHERE datname = current_database()`,
  );
  return Number(rows[0]?.count);
}

/** What makes replay and a query on the replica conflict. */
const change: Record<Conflict, () => Promise<unknown>> = {
  snapshot: async () => {
    await primary.query('UPDATE ct_sequence SET next = next');
    await primary.query('VACUUM ct_sequence');
  },
  lock: async () =>
    await primary.transaction(
      async (tx) => await tx.query('LOCK TABLE ct_issuance IN ACCESS EXCLUSIVE MODE'),
    ),
};

it.each(['snapshot', 'lock'] as const)(
  'repeats a statement that is canceled because of a %s of the primary',
  async (kind) => {
    const before = await conflicts(kind);
    const read = readers
      .within({ kind: 'spec', timeLimitMs: 60_000 })
      .query('SELECT count(*)::int AS count, pg_sleep(1.5)::text AS slept FROM ct_issuance');
    const outcome = expect(read).resolves.toEqual([{ count: 0, slept: '' }]);
    await eventually(async () => {
      const asleep = await replica.query(`SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'`);
      expect(asleep.rowCount).toBe(1);
    });
    await change[kind]();
    await outcome;
    await eventually(async () => expect(await conflicts(kind)).toBeGreaterThan(before));
  },
);

it('returns pages and the firehose while the primary vacuums and locks', async () => {
  // A fast machine sends all requests at once.
  await search.core.query(`UPDATE search_plan SET queries_per_second = 1000, burst = 1000`);
  const key = await search.key('firehose');
  const ids = await search.store(...Array.from({ length: 50 }, () => anIssuance('www.example.com')));
  const page = '/v1/issuances?domain=example.com&include_subdomains=true&expand=dns_names';
  const stream = '/v1/issuances/firehose?after=0&expand=dns_names';
  await eventually(async () => expect((await search.get(stream, key)).json).toHaveLength(ids.length));
  const allConflicts = async () => (await conflicts('snapshot')) + (await conflicts('lock'));
  const before = await allConflicts();
  let isOver = false;
  const changes = (async () => {
    while (!isOver) {
      await change.snapshot();
      await primary.query('UPDATE ct_issuance SET precertificate = precertificate');
      await primary.query('VACUUM ct_issuance');
      await change.lock();
      // With a fast disk there would be conflicts at every instant, and no statement could end.
      await pause(5);
    }
  })();
  const responses = await Promise.all(
    Array.from({ length: 4 }, async (_, at) => {
      const counts: unknown[] = [];
      for (let request = 0; request < 50; request += 1) {
        const { status, json } = await search.get(at % 2 === 0 ? page : stream, key);
        counts.push(status === 200 ? (json as unknown[]).length : json);
      }
      return counts;
    }),
  );
  isOver = true;
  await changes;
  expect(responses.flat()).toEqual(Array(200).fill(ids.length));
  await eventually(async () => expect(await allConflicts()).toBeGreaterThan(before));
});

it('GET /status says until when the data of the replica is complete', async () => {
  const asOf = async () => new Date((await search.get('/v1/status')).json.as_of as string).getTime();
  await replica.query('SELECT pg_wal_replay_pause()');
  try {
    await eventually(async () => {
      await primary.query('UPDATE ct_sequence SET next = next');
      expect(Date.now() - (await asOf())).toBeGreaterThan(3_000);
    });
  } finally {
    await replica.query('SELECT pg_wal_replay_resume()');
  }
  await eventually(async () => {
    await primary.query('UPDATE ct_sequence SET next = next');
    expect(Date.now() - (await asOf())).toBeLessThan(3_000);
  });
});

it('reports how old the data of the replica is, while it applies nothing', async () => {
  const age = async () =>
    Number(/^certwright_ct_data_age_seconds\{.*\} (\S+)$/m.exec(await search.metrics.render())?.[1]);
  await replica.query('SELECT pg_wal_replay_pause()');
  const before = await age();
  expect(before).toBeGreaterThanOrEqual(0);
  await primary.query('UPDATE ct_sequence SET next = next');
  await eventually(async () => expect(await age()).toBeGreaterThan(before));
  await replica.query('SELECT pg_wal_replay_resume()');
});
