import { FailingDatabase } from '@certwright/core-testing';
import { CtLogs } from '../logs/ct-logs';
import { IngestFixture } from '../testing/ingest-fixture';

jest.setTimeout(120_000);

let ingest: IngestFixture;
beforeAll(async () => {
  ingest = await IngestFixture.open();
});
afterAll(async () => await ingest.close());

/** A precertificate and its certificate; each is a batch. */
const entries = 2;
const shares = { batch: 1 };

const indexed = `
  SELECT (SELECT array_agg(position ORDER BY position) FROM ct_issuance) AS positions,
    (SELECT count(*)::int FROM ct_issuance JOIN ct_issuer AS issuer ON issuer.id = issuer) AS with_issuer,
    (SELECT count(*)::int FROM ct_issuance WHERE NOT precertificate) AS completed,
    (SELECT count(*)::int FROM ct_known) AS known,
    (SELECT sum(postings)::int FROM ct_run) AS postings, (SELECT next FROM ct_sequence) AS next,
    (SELECT jsonb_agg(jsonb_build_array(position, verified_size, head_size, entries_odd)) FROM ct_log) AS log,
    (SELECT count(*)::int FROM ct_unverified) AS unverified`;

it.each(['before', 'after'] as const)(
  'stores each entry once when a process is killed %s a statement or COMMIT',
  async (when) => {
    let expected: unknown;
    let nth = 0;
    for (let isKilled = true; isKilled; nth += 1) {
      await ingest.empty();
      await ingest.database.query('DELETE FROM ct_issuer');
      await ingest.database.query('UPDATE ct_sequence SET next = 1');
      await ingest.openLog('rfc6962', entries);
      // The first time, nothing breaks.
      const failing = new FailingDatabase(ingest.asIngest, nth === 0 ? Infinity : nth, when);
      const [logs, killed] = [new CtLogs(failing.source), new AbortController()];
      const leased = await logs.lease(60_000).catch(() => null);
      if (leased !== null) await ingest.follower({ logs, shares }).turn(leased, killed.signal);
      killed.abort();
      isKilled = failing.struck || nth === 0;
      // The lease ends.
      await ingest.database.query(`UPDATE ct_log SET leased_until = NULL`);
      ingest.failed.length = 0;
      await ingest.turn(ingest.follower({ logs: new CtLogs(ingest.asIngest), shares }));
      const [result] = await ingest.database.query<unknown[]>(indexed);
      expected ??= result;
      expect({ nth, result }).toEqual({ nth, result: expected });
    }
    expect(expected).toMatchObject({ positions: ['1'], with_issuer: 1, completed: 1, log: [[2, 2, 2, 0]] });
    expect(nth).toBeGreaterThan(20);
  },
);
