import { CoreDatabaseFixture } from '../testing/core-database';
import { bounds, WebhookFixture } from '../testing/webhooks';
import type { TriedDelivery } from './delivery-lease';
import { mostWebhookEndpoints } from './webhook-endpoints';

let core: CoreDatabaseFixture;
let webhooks: WebhookFixture;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  webhooks = new WebhookFixture(core);
});
afterAll(async () => await core.close());
beforeEach(async () => {
  await core.database.query(
    'TRUNCATE webhook_endpoint, webhook_delivery, webhook_attempt, mail, outbox CASCADE',
  );
});

const account = '4711';
const attempt = { startedAt: new Date(), durationMs: 12, status: 500, problem: 'answered 500' };
const health = { failingSince: null, failedAt: null };
const delivered = (): TriedDelivery => ({ delivery: { state: 'delivered' }, health, disabledReason: null });
const failing = (disabledReason: string | null = null): TriedDelivery => ({
  delivery:
    disabledReason === null
      ? { state: 'pending', dueAt: new Date(Date.now() + 60_000) }
      : { state: 'failed' },
  health: { failingSince: new Date(), failedAt: new Date() },
  disabledReason,
});
const leased = async (id: string | null, alsoFailing = true) => {
  const work = await webhooks.lease(id, alsoFailing);
  if (work === null) throw new Error('not leased');
  return work;
};
const endLeases = async () =>
  await core.database.query(
    `UPDATE webhook_delivery SET leased_until = now() WHERE leased_until IS NOT NULL`,
  );

describe('enqueue', () => {
  it('puts an event on its way once, with its nudge', async () => {
    const endpoint = await webhooks.endpoint(account);
    const plan = await webhooks.plan(account);
    const id = await webhooks.enqueue(account, endpoint, plan, 1);
    expect(await webhooks.enqueue(account, endpoint, plan, 1)).toBeNull();
    expect(await core.database.query(`SELECT job, job_id, payload FROM outbox`)).toEqual([
      { job: 'deliver-webhook', job_id: `deliver-webhook-${id}-0`, payload: { deliveryId: id } },
    ]);
  });

  it('lets the newest state of a plan take the place of those that wait, and an older one none', async () => {
    const endpoint = await webhooks.endpoint(account);
    const plan = await webhooks.plan(account);
    const other = await webhooks.enqueue(account, endpoint, await webhooks.plan(account), 1);
    const first = await webhooks.enqueue(account, endpoint, plan, 1);
    const third = await webhooks.enqueue(account, endpoint, plan, 3);
    expect(await webhooks.enqueue(account, endpoint, plan, 2)).toBeNull();
    expect(await webhooks.stateOf(first)).toBe('superseded');
    expect(await webhooks.stateOf(third)).toBe('pending');
    expect(await webhooks.stateOf(other)).toBe('pending');
  });

  it('sends nothing to a disabled endpoint, to one of another account, or about a closed plan', async () => {
    const endpoint = await webhooks.endpoint(account);
    const foreign = await webhooks.endpoint('4712');
    const plan = await webhooks.plan(account);
    expect(await webhooks.enqueue(account, foreign, plan, 1)).toBeNull();
    await core.database.query(`UPDATE webhook_endpoint SET enabled = false WHERE id = $1`, [endpoint]);
    expect(await webhooks.enqueue(account, endpoint, plan, 1)).toBeNull();
    await core.database.query(`UPDATE webhook_endpoint SET enabled = true WHERE id = $1`, [endpoint]);
    await core.transactions.run(async (tx) => await core.plans.close(tx, plan));
    expect(await webhooks.enqueue(account, endpoint, plan, 1)).toBeNull();
  });

  it('sends any number of test events', async () => {
    const endpoint = await webhooks.endpoint(account);
    expect(await webhooks.enqueue(account, endpoint, null, 0)).not.toBeNull();
    expect(await webhooks.enqueue(account, endpoint, null, 0)).not.toBeNull();
  });

  it('replays the body of a delivery as a delivery of its own', async () => {
    const endpoint = await webhooks.endpoint(account);
    const id = await webhooks.enqueue(account, endpoint, await webhooks.plan(account), 1);
    const replay = async (of: string) =>
      await core.transactions.run(
        async (tx) => await webhooks.deliveries.replay(tx, account, endpoint, of, 'msg_again'),
      );
    expect(await replay('msg_unknown')).toBe(false);
    expect(await replay(String(id))).toBe(true);
    expect(await webhooks.log.get(account, endpoint, 'msg_again')).toMatchObject({
      body: '{"v":1}',
      replayOf: id,
      state: 'pending',
    });
    expect(await webhooks.stateOf(id)).toBe('pending');
  });
});

describe('lease', () => {
  it('goes to one only, and comes back when its time is up', async () => {
    const endpoint = await webhooks.endpoint(account);
    const id = await webhooks.enqueue(account, endpoint, await webhooks.plan(account), 1);
    const first = await leased(id);
    expect(await webhooks.lease(id)).toBeNull();
    await endLeases();
    const second = await leased(id);
    expect(await webhooks.leased.recordAttempt(first.lease, attempt, delivered)).toBeNull();
    expect(await webhooks.stateOf(id)).toBe('pending');
    expect(await webhooks.leased.recordAttempt(second.lease, attempt, delivered)).not.toBeNull();
    expect(await webhooks.stateOf(id)).toBe('delivered');
    expect(await core.database.query(`SELECT delivery_id FROM webhook_attempt`)).toHaveLength(1);
  });

  it.each([
    ['its plan was closed', `UPDATE plan SET closed_at = now()`],
    ['its endpoint was disabled', `UPDATE webhook_endpoint SET enabled = false`],
  ])('cancels the delivery when %s meanwhile', async (_, change) => {
    const endpoint = await webhooks.endpoint(account);
    const id = await webhooks.enqueue(account, endpoint, await webhooks.plan(account), 1);
    await core.database.query(change);
    expect(await webhooks.lease(id)).toBeNull();
    expect(await webhooks.stateOf(id)).toBe('canceled');
  });

  it('never gives an endpoint or an account more places than it has, however many ask at once', async () => {
    const counts: number[] = [];
    for (const endpoint of [await webhooks.endpoint(account), await webhooks.endpoint(account)]) {
      const ids: (string | null)[] = [];
      for (let each = 0; each < 8; each += 1) ids.push(await webhooks.enqueue(account, endpoint, null, 0));
      const works = await Promise.all(ids.map(async (id) => await webhooks.lease(id)));
      counts.push(works.filter((work) => work !== null).length);
    }
    expect(counts).toEqual([bounds.perEndpoint, bounds.perAccount - bounds.perEndpoint]);
  });

  it('gives a failing endpoint one place, and none when failing ones are not wanted', async () => {
    const endpoint = await webhooks.endpoint(account);
    const first = await webhooks.enqueue(account, endpoint, null, 0);
    const second = await webhooks.enqueue(account, endpoint, null, 0);
    await core.database.query(`UPDATE webhook_endpoint SET failing_since = now(), failed_at = now()`);
    expect(await webhooks.lease(first, false)).toBeNull();
    expect(await webhooks.lease(first)).not.toBeNull();
    expect(await webhooks.lease(second)).toBeNull();
  });

  it('holds back the newer state of a plan while an older one is under way', async () => {
    const endpoint = await webhooks.endpoint(account);
    const plan = await webhooks.plan(account);
    const older = await leased(await webhooks.enqueue(account, endpoint, plan, 1));
    const newer = await webhooks.enqueue(account, endpoint, plan, 2);
    expect(await webhooks.lease(newer)).toBeNull();
    await webhooks.leased.recordAttempt(older.lease, attempt, () => failing());
    expect(await webhooks.stateOf(older.delivery.id)).toBe('superseded');
    expect(await webhooks.lease(newer)).not.toBeNull();
    const log = await webhooks.log.page(account, endpoint, { after: null, limit: 10 });
    expect(log.map(({ state, attempts }) => [state, attempts.length])).toEqual([
      ['pending', 0],
      ['superseded', 1],
    ]);
  });

  it('tells the previous secret for 24 h after a rotation, and not after', async () => {
    const endpoint = await webhooks.endpoint(account);
    await core.transactions.run(
      async (tx) => await webhooks.endpoints.rotateSecret(tx, account, endpoint, Buffer.from('fresh')),
    );
    const during = await leased(await webhooks.enqueue(account, endpoint, null, 0));
    expect([during.endpoint.secretSealed, during.endpoint.previousSecretSealed].map(String)).toEqual([
      'fresh',
      'sealed',
    ]);
    await core.database.query(
      `UPDATE webhook_endpoint SET previous_secret_until = previous_secret_until - interval '24 hours'`,
    );
    const after = await leased(await webhooks.enqueue(account, endpoint, null, 0));
    expect(after.endpoint.previousSecretSealed).toBeNull();
  });
});

describe('an endpoint that is switched off', () => {
  it('by the platform: what waits is canceled, and its account is told once by mail', async () => {
    const endpoint = await webhooks.endpoint(account);
    await core.database.query(`UPDATE account SET contact_email = 'ops@example.com' WHERE id = $1`, [
      account,
    ]);
    const works = [
      await leased(await webhooks.enqueue(account, endpoint, null, 0)),
      await leased(await webhooks.enqueue(account, endpoint, null, 0)),
    ];
    const waiting = await webhooks.enqueue(account, endpoint, null, 0);
    for (const { lease } of works) await webhooks.leased.recordAttempt(lease, attempt, () => failing('gone'));
    expect(await webhooks.endpoints.get(account, endpoint)).toMatchObject({
      enabled: false,
      disabledReason: 'gone',
    });
    expect(await webhooks.stateOf(waiting)).toBe('canceled');
    expect(await core.database.query(`SELECT kind, recipient, facts FROM mail`)).toEqual([
      { kind: 'webhook-disabled', recipient: 'ops@example.com', facts: { endpointId: endpoint } },
    ]);
  });

  it('by its owner: what waits is canceled; switched on again it begins afresh', async () => {
    const endpoint = await webhooks.endpoint(account);
    const waiting = await webhooks.enqueue(account, endpoint, null, 0);
    await core.database.query(
      `UPDATE webhook_endpoint SET disabled_reason = 'x', failing_since = now(), failed_at = now()`,
    );
    const update = async (enabled: boolean) =>
      await core.transactions.run(
        async (tx) => await webhooks.endpoints.update(tx, account, endpoint, { enabled }),
      );
    expect(await update(false)).toMatchObject({ enabled: false });
    expect(await webhooks.stateOf(waiting)).toBe('canceled');
    expect(await update(true)).toMatchObject({ enabled: true, disabledReason: null, failingSince: null });
  });
});

describe('due', () => {
  it('goes by accounts in turn, gives each endpoint its places, and puts failing ones last', async () => {
    const busy = await webhooks.endpoint(account);
    for (let each = 0; each < 9; each += 1) await webhooks.enqueue(account, busy, null, 0);
    const dead = await webhooks.endpoint('4712');
    for (let each = 0; each < 3; each += 1) await webhooks.enqueue('4712', dead, null, 0);
    await core.database.query(`UPDATE webhook_endpoint SET failing_since = now() WHERE id = $1`, [dead]);
    const healthy = await webhooks.endpoint('4713');
    const late = await webhooks.enqueue('4713', healthy, null, 0);
    const due = await webhooks.leased.due(100, bounds);
    const endpoints: { id: string; endpoint_id: string }[] = await core.database.query(
      `SELECT id, endpoint_id FROM webhook_delivery`,
    );
    const endpointOf = new Map(endpoints.map((row) => [row.id, row.endpoint_id]));
    expect(due.map(({ id }) => endpointOf.get(id))).toEqual([busy, healthy, busy, busy, busy, dead]);
    expect(due[1]?.id).toBe(late);
  });

  it('leaves out what is not due, not pending, or in somebody’s hands', async () => {
    const endpoint = await webhooks.endpoint(account);
    const held = await leased(await webhooks.enqueue(account, endpoint, null, 0));
    const postponed = await leased(await webhooks.enqueue(account, endpoint, null, 0));
    await webhooks.leased.postpone(postponed.lease, 60_000);
    const done = await leased(await webhooks.enqueue(account, endpoint, null, 0));
    await webhooks.leased.recordAttempt(done.lease, attempt, delivered);
    expect(await webhooks.leased.due(100, bounds)).toEqual([]);
    await endLeases();
    expect(await webhooks.leased.due(100, bounds)).toMatchObject([{ id: held.delivery.id, leaseToken: '1' }]);
  });
});

describe('the log', () => {
  it('is read in pages, newest first, by its own account only', async () => {
    const endpoint = await webhooks.endpoint(account);
    const ids: (string | null)[] = [];
    for (let each = 0; each < 5; each += 1) ids.unshift(await webhooks.enqueue(account, endpoint, null, 0));
    const first = await webhooks.log.page(account, endpoint, { after: null, limit: 3 });
    const second = await webhooks.log.page(account, endpoint, { after: first[2]?.id ?? '', limit: 3 });
    expect([...first, ...second].map(({ id }) => id)).toEqual(ids);
    expect(await webhooks.log.page('4712', endpoint, { after: null, limit: 3 })).toEqual([]);
    expect(await webhooks.log.get('4712', endpoint, String(ids[0]))).toBeNull();
  });

  it('is kept for 30 days', async () => {
    const endpoint = await webhooks.endpoint(account);
    const works = [
      await leased(await webhooks.enqueue(account, endpoint, null, 0)),
      await leased(await webhooks.enqueue(account, endpoint, null, 0)),
    ];
    for (const { lease } of works) await webhooks.leased.recordAttempt(lease, attempt, delivered);
    await core.database.query(
      `UPDATE webhook_delivery SET finished_at = now() - interval '30 days 1 minute' WHERE id = $1`,
      [works[0]?.delivery.id],
    );
    expect(await webhooks.deliveries.forgetOld(10)).toBe(1);
    expect(await core.database.query(`SELECT delivery_id AS id FROM webhook_attempt`)).toEqual([
      { id: works[1]?.delivery.id },
    ]);
  });
});

describe('endpoints', () => {
  it('are bounded in number for each account, and belong to it alone', async () => {
    for (let each = 0; each < mostWebhookEndpoints; each += 1) await webhooks.endpoint(account);
    await webhooks.endpoint(account);
    const own = await webhooks.endpoints.ofAccount(account);
    expect(own).toHaveLength(mostWebhookEndpoints);
    const id = own[0]?.id ?? '';
    expect(await webhooks.endpoints.get('4712', id)).toBeNull();
    await core.transactions.run(async (tx) => {
      expect(await webhooks.endpoints.update(tx, '4712', id, { enabled: false })).toBeNull();
      expect(await webhooks.endpoints.rotateSecret(tx, '4712', id, Buffer.from('x'))).toBeNull();
      expect(await webhooks.endpoints.delete(tx, '4712', id)).toBe(false);
      expect(await webhooks.endpoints.delete(tx, account, id)).toBe(true);
    });
  });

  it('forget their failures with another address', async () => {
    const endpoint = await webhooks.endpoint(account);
    await core.database.query(`UPDATE webhook_endpoint SET failing_since = now(), failed_at = now()`);
    await core.transactions.run(async (tx) => {
      const kept = await webhooks.endpoints.update(tx, account, endpoint, { description: 'x' });
      expect(kept?.failingSince).not.toBeNull();
      const moved = await webhooks.endpoints.update(tx, account, endpoint, { url: 'https://b.example.com/' });
      expect(moved?.failingSince).toBeNull();
    });
  });
});
