import { JobQueues, runJobs, type RunningJobs } from '@certwright/bullmq';
import { LeasedIssuances } from '@certwright/ordering';
import { Outbox } from '@certwright/core-schema';
import { repeat, type Repeating } from '@certwright/service';
import { eventually, testRedis, type TestRedis } from '@certwright/testing';
import { Issuing } from '../testing/issuing';
import { openIssuance, opensslCsr } from '../testing/opened-issuance';
import { maxWaitingIssuances } from './backlog';
import { relayOnce } from './relay';
import { Sweep } from './sweep';

const backlog = 10_000;
const busyAccount = '1000000000001';
const otherAccount = '1000000000002';
const dnsNames = ['a.example.com'];

let issuing: Issuing;
let redis: TestRedis;
let jobs: JobQueues;
let runner: RunningJobs;
let rounds: Repeating[];
let csr: Buffer;

beforeAll(async () => {
  [issuing, redis] = await Promise.all([Issuing.open(), testRedis()]);
  csr = opensslCsr(dnsNames);
  await issuing.database.query(`INSERT INTO account (id, name) VALUES ($1, 'Other')`, [otherAccount]);
  await openBacklog();
  jobs = new JobQueues(redis.access, () => undefined);
  const worker = issuing.worker();
  runner = runJobs(
    redis.access,
    'issuance',
    { 'advance-issuance': async ({ issuanceId }) => await worker.run(issuanceId) },
    { failed: () => undefined, error: () => undefined },
    4,
  );
  const options = { afterErrorMs: 100, onError: () => undefined };
  const outbox = new Outbox(issuing.asWorker);
  const sweep = new Sweep(new LeasedIssuances(issuing.asWorker), jobs);
  rounds = [
    repeat(async () => ((await relayOnce(outbox, jobs)) > 0 ? 0 : 50), options),
    repeat(async () => await sweep.round(), options),
  ];
}, 60_000);

afterAll(async () => {
  for (const round of rounds) await round.stop();
  await runner.close();
  await jobs.close();
  await redis.dispose();
  await issuing.close();
});

/** Ten thousand due issuances of one account, each with its wake-up, as after bulk orders. */
async function openBacklog(): Promise<void> {
  const { planId } = await openIssuance(issuing.repositories, dnsNames, csr, busyAccount);
  await issuing.database.query(
    `WITH plans AS (
       INSERT INTO plan (account_id, revision, auto_renew, muted, paused, download_token, terms_id)
       SELECT account_id, 1, true, false, false, 'backlog-' || n, terms_id
       FROM plan CROSS JOIN generate_series(1, $2::int) AS n WHERE plan.id = $1 RETURNING id, account_id, terms_id),
     opened AS (
       INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at)
       SELECT id, account_id, terms_id, 1, 'open', (SELECT approvals FROM issuance WHERE plan_id = $1), now()
       FROM plans RETURNING id)
     INSERT INTO outbox (job, job_id, payload)
     SELECT 'advance-issuance', 'advance-issuance-' || id || '-0', jsonb_build_object('issuanceId', id::text) FROM opened`,
    [planId, backlog],
  );
}

const certificatesOf = async (accountId: string): Promise<number> => {
  const [row] = await issuing.database.query<[{ count: number }]>(
    `SELECT count(*)::int AS count FROM certificate WHERE account_id = $1`,
    [accountId],
  );
  return row.count;
};

describe(`${backlog} due issuances of one account`, () => {
  it('do not delay another account’s order by more than a few seconds', async () => {
    await eventually(async () => expect(await certificatesOf(busyAccount)).toBeGreaterThan(50), {
      withinMs: 20_000,
    });
    for (let order = 1; order <= 3; order += 1) {
      await openIssuance(issuing.repositories, dnsNames, csr, otherAccount);
      await eventually(async () => expect(await certificatesOf(otherAccount)).toBe(order));
    }
    expect(await certificatesOf(busyAccount)).toBeLessThan(backlog / 2);
    // And the busy account continues, too.
    const before = await certificatesOf(busyAccount);
    await eventually(async () => expect(await certificatesOf(busyAccount)).toBeGreaterThan(before + 50), {
      withinMs: 20_000,
    });
  }, 60_000);

  it('are not all put on Redis: its queue is bounded', async () => {
    // One batch of the relay, one of the sweep, and on a slow machine jobs of issuances that have ended since.
    expect(await jobs.waiting('issuance')).toBeLessThanOrEqual(4 * maxWaitingIssuances);
  });
});
