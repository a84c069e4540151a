import { CoreDatabaseFixture, WebhookFixture } from '@certwright/core-testing';
import type { Tx } from '@certwright/core-schema';
import type { MonitoringEvent } from '@certwright/webhooks';
import { type AccountEvent, AccountEvents } from './account-events';
import { freshDeliveryId } from './webhook-fan-out';

let core: CoreDatabaseFixture;
let webhooks: WebhookFixture;
const events = new AccountEvents();

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  webhooks = new WebhookFixture(core);
});
afterAll(async () => await core.close());
beforeEach(async () => await core.database.query(`DELETE FROM outbox`));

const finding = (accountId: string, name: string, event?: MonitoringEvent): AccountEvent => ({
  accountId,
  event: event ?? 'monitoring.unknown_certificate',
  subject: `finding:${name}`,
  body: JSON.stringify({ name }),
});
const findings = (accountId: string, count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => finding(accountId, String(from + index)));
const enqueue = async (...wanted: readonly AccountEvent[]) =>
  await core.transactions.run(async (tx) => await events.enqueue(tx, wanted));

const deliveries = async (accountId: string) =>
  await core.database.query<{ id: string; endpoint_id: string; subject: string; state: string }[]>(
    `SELECT id, endpoint_id, plan_id, version, subject, event, body, state FROM webhook_delivery
     WHERE account_id = $1 ORDER BY subject, endpoint_id::text`,
    [accountId],
  );
/** How many deliveries are due, by the hours until then. */
const schedule = async (accountId: string) =>
  Object.fromEntries(
    (
      await core.database.query<{ hours: number; count: number }[]>(
        `SELECT round(extract(epoch FROM due_at - created_at) / 3600)::int AS hours, count(*)::int FROM webhook_delivery
         WHERE account_id = $1 AND state = 'pending' GROUP BY hours`,
        [accountId],
      )
    ).map(({ hours, count }) => [hours, count]),
  );

it('enqueues one delivery for each endpoint that selected the event, and a wake-up for each', async () => {
  const ids = [
    await webhooks.endpoint('1', ['monitoring.*']),
    await webhooks.endpoint('1', ['monitoring.unknown_certificate']),
  ];
  await webhooks.endpoint('1');
  const disabled = await webhooks.endpoint('1', ['monitoring.*']);
  await core.database.query(`UPDATE webhook_endpoint SET enabled = false WHERE id = $1`, [disabled]);
  await webhooks.endpoint('2', ['monitoring.*']);

  expect(await enqueue(finding('1', 'a'))).toBe(2);
  const enqueued = await deliveries('1');
  expect(enqueued).toEqual(
    ids.sort().map((id) => ({
      id: expect.stringMatching(/^msg_[A-Za-z0-9_-]{27}$/),
      endpoint_id: id,
      plan_id: null,
      version: 0,
      subject: 'finding:a',
      event: 'monitoring.unknown_certificate',
      body: '{"name":"a"}',
      state: 'pending',
    })),
  );
  const jobs: { payload: object }[] = await core.database.query(`SELECT job, job_id, payload FROM outbox`);
  expect(jobs).toEqual(
    expect.arrayContaining(
      enqueued.map(({ id }) => ({
        job: 'deliver-webhook',
        job_id: `deliver-webhook-${id}-0`,
        payload: { deliveryId: id },
      })),
    ),
  );
  expect(jobs).toHaveLength(2);
  expect(await deliveries('2')).toEqual([]);
});

it('adds nothing for a subject that an endpoint has', async () => {
  await webhooks.endpoint('3', ['monitoring.*']);
  expect(await enqueue(finding('3', 'a'))).toBe(1);
  await webhooks.endpoint('3', ['monitoring.*']);
  expect(await enqueue(finding('3', 'a'), finding('3', 'a'), finding('3', 'b'))).toBe(3);
  expect((await deliveries('3')).map(({ subject }) => subject)).toEqual([
    'finding:a',
    'finding:a',
    'finding:b',
    'finding:b',
  ]);
});

it('sends new_endpoint only to endpoints that selected it by name', async () => {
  await webhooks.endpoint('4', ['monitoring.*']);
  const named = await webhooks.endpoint('4', ['monitoring.new_endpoint']);
  expect(await enqueue(finding('4', 'a', 'monitoring.new_endpoint'))).toBe(1);
  expect(await deliveries('4')).toMatchObject([{ endpoint_id: named }]);
});

it('needs the same number of statements for 500 events of ten accounts as for one', async () => {
  const accounts = Array.from({ length: 10 }, (_, index) => String(100 + index));
  for (const accountId of accounts) await webhooks.endpoint(accountId, ['monitoring.*']);
  const statements = async (wanted: readonly AccountEvent[]) =>
    await core.transactions.run(async (tx) => {
      const query = jest.spyOn(tx, 'query');
      expect(await events.enqueue(tx, wanted)).toBe(wanted.length);
      return query.mock.calls.length;
    });
  const one = await statements([finding('100', 'first')]);
  expect(await statements(accounts.flatMap((accountId) => findings(accountId, 50)))).toBe(one);
});

it('cancels what was not delivered, of that subject and account only', async () => {
  await webhooks.endpoint('5', ['monitoring.*']);
  await webhooks.endpoint('6', ['monitoring.*']);
  await enqueue(...findings('5', 3), ...findings('6', 1));
  await core.database.query(
    `UPDATE webhook_delivery SET state = 'delivered', finished_at = now() WHERE account_id = 5 AND subject = 'finding:1'`,
  );
  const canceled = await core.transactions.run(
    async (tx) => await events.cancel(tx, [finding('5', '0'), finding('5', '1'), finding('5', '9')]),
  );
  expect(canceled).toBe(1);
  expect((await deliveries('5')).map(({ state }) => state)).toEqual(['canceled', 'delivered', 'pending']);
  expect((await deliveries('6')).map(({ state }) => state)).toEqual(['pending']);
  expect(await core.transactions.run(async (tx) => await events.cancel(tx, []))).toBe(0);
});

it('replays a delivery as another one with the same subject', async () => {
  const endpointId = await webhooks.endpoint('7', ['monitoring.*']);
  await enqueue(finding('7', 'a'));
  const [original] = await deliveries('7');
  for (let count = 0; count < 2; count += 1) {
    const replayed = core.transactions.run(
      async (tx) =>
        await webhooks.deliveries.replay(tx, '7', endpointId, original?.id ?? '', freshDeliveryId()),
    );
    expect(await replayed).toBe(true);
  }
  expect((await deliveries('7')).map(({ subject }) => subject)).toEqual(Array(3).fill('finding:a'));
  expect(await enqueue(finding('7', 'a'))).toBe(0);
});

describe('beyond 1,000 deliveries of an account per hour', () => {
  it('delays the next ones by whole hours, and those of no other account', async () => {
    await webhooks.endpoint('8', ['monitoring.*']);
    await webhooks.endpoint('9', ['monitoring.*']);
    expect(await enqueue(...findings('8', 1_500), ...findings('9', 10))).toBe(1_510);
    expect(await schedule('8')).toEqual({ 0: 1_000, 1: 500 });
    expect(await schedule('9')).toEqual({ 0: 10 });
    const [{ count } = { count: 0 }] = await core.database.query<{ count: number }[]>(
      `SELECT count(*)::int FROM outbox`,
    );
    expect(count).toBe(1_010);
    await enqueue(...findings('8', 600, 1_500));
    expect(await schedule('8')).toEqual({ 0: 1_000, 1: 1_000, 2: 100 });
  });

  it('delays nothing when the others were due more than an hour ago, or are retried', async () => {
    await webhooks.endpoint('10', ['monitoring.*']);
    await enqueue(...findings('10', 1_000));
    await core.database.query(
      `UPDATE webhook_delivery SET created_at = now() - interval '61 minutes',
         attempts = 1, due_at = now() + interval '10 hours' WHERE account_id = 10`,
    );
    await enqueue(finding('10', 'next'));
    expect(await schedule('10')).toEqual({ 0: 1, 11: 1_000 });
  });

  it('counts deliveries that were sent when they were due', async () => {
    await webhooks.endpoint('11', ['monitoring.*']);
    await enqueue(...findings('11', 1_000));
    await core.database.query(
      `UPDATE webhook_delivery SET created_at = now() - interval '3 hours', due_at = now() - interval '1 minute',
         attempts = 1, state = 'delivered', finished_at = now() WHERE account_id = 11`,
    );
    await enqueue(finding('11', 'next'));
    expect(await schedule('11')).toEqual({ 1: 1 });
  });

  it('counts exactly when several transactions enqueue at the same time', async () => {
    await webhooks.endpoint('12', ['monitoring.*']);
    let ready = 0;
    let start: () => void = () => undefined;
    const bothReady = new Promise<void>((resolve) => (start = resolve));
    const together = async (tx: Tx, from: number) => {
      await tx.query('SELECT 1');
      if ((ready += 1) === 2) start();
      await bothReady;
      await events.enqueue(tx, findings('12', 600, from));
    };
    await Promise.all(
      [0, 600].map(async (from) => await core.transactions.run(async (tx) => await together(tx, from))),
    );
    expect(await schedule('12')).toEqual({ 0: 1_000, 1: 200 });
  });
});
