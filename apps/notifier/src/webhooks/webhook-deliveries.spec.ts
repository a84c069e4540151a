import { CoreDatabaseFixture } from '@certwright/core-testing';
import { bounds, leaseMs, LeasedWebhookFixture } from '../testing/leased-webhooks';
import type { TriedDelivery } from './delivery-lease';
import { maxWebhookEndpoints } from '@certwright/delivery';

let core: CoreDatabaseFixture;
let webhooks: LeasedWebhookFixture;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  webhooks = new LeasedWebhookFixture(core);
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
const leased = async (endpoint: string) => {
  const [work] = await webhooks.lease(endpoint);
  if (work === undefined) throw new Error('not leased');
  return work;
};
const enqueued = async (endpoint: string, of = account) => {
  const id = await webhooks.enqueue(of, endpoint, null, 0);
  if (id === null) throw new Error('not enqueued');
  return id;
};
const missing = (): never => {
  throw new Error('not leased');
};
const endLeases = async () =>
  await core.database.query(
    `UPDATE webhook_delivery SET leased_until = now() WHERE leased_until IS NOT NULL`,
  );

describe('enqueue', () => {
  it('stores an event once, with its wake-up', async () => {
    const endpoint = await webhooks.endpoint(account);
    const plan = await webhooks.plan(account);
    const id = await webhooks.enqueue(account, endpoint, plan, 1);
    expect(await webhooks.enqueue(account, endpoint, plan, 1)).toBeNull();
    expect(await core.database.query(`SELECT job, job_id, payload FROM outbox`)).toEqual([
      { job: 'deliver-webhook', job_id: `deliver-webhook-${id}-0`, payload: { deliveryId: id } },
    ]);
  });

  it('supersedes waiting states of a plan by a newer one, and never by an older one', async () => {
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

  it('replays the body of a delivery as a separate delivery', async () => {
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
  it('goes to one process only, and ends when its time is up', async () => {
    const endpoint = await webhooks.endpoint(account);
    const id = await enqueued(endpoint);
    const first = await leased(endpoint);
    expect(await webhooks.lease(endpoint)).toEqual([]);
    await endLeases();
    const second = await leased(endpoint);
    expect(await webhooks.leased.recordAttempt(first.lease, attempt, delivered)).toBeNull();
    expect(await webhooks.stateOf(id)).toBe('pending');
    expect(await webhooks.leased.recordAttempt(second.lease, attempt, delivered)).not.toBeNull();
    expect(await webhooks.stateOf(id)).toBe('delivered');
    expect(await core.database.query(`SELECT delivery_id FROM webhook_attempt`)).toHaveLength(1);
  });

  it('takes the oldest first, of several endpoints at once', async () => {
    const endpoints = [await webhooks.endpoint(account), await webhooks.endpoint('4712')];
    const oldest: string[] = [];
    for (const [index, endpoint] of endpoints.entries()) {
      for (let each = 0; each < 3; each += 1) oldest.push(await enqueued(endpoint, ['4711', '4712'][index]));
    }
    const { leased: works } = await webhooks.leased.lease(
      endpoints.map((endpointId) => ({ endpointId, max: 2 })),
      leaseMs,
      bounds,
    );
    expect(works.map(({ delivery }) => delivery.id).sort()).toEqual(
      [0, 1, 3, 4].map((index) => oldest[index]).sort(),
    );
  });

  it('skips deliveries that are not due, not pending, or leased', async () => {
    const endpoint = await webhooks.endpoint(account);
    const ids = [await enqueued(endpoint), await enqueued(endpoint), await enqueued(endpoint)];
    const [held, postponed, done] = await webhooks.lease(endpoint, 3);
    await webhooks.leased.postpone(postponed?.lease ?? missing(), 60_000);
    await webhooks.leased.recordAttempt(done?.lease ?? missing(), attempt, delivered);
    expect(await webhooks.lease(endpoint, 3)).toEqual([]);
    expect(await webhooks.leased.waiting()).toEqual([]);
    await endLeases();
    expect(await webhooks.leased.waiting()).toMatchObject([{ endpointId: endpoint, isFailing: false }]);
    expect(await webhooks.leased.waitingAt(ids)).toMatchObject([
      { endpointId: endpoint, accountId: account },
    ]);
    expect(await webhooks.lease(endpoint, 3)).toMatchObject([
      { delivery: { id: held?.delivery.id }, lease: { token: '2' } },
    ]);
  });

  it.each([
    ['its plan was closed', `UPDATE plan SET closed_at = now()`],
    ['its endpoint was disabled', `UPDATE webhook_endpoint SET enabled = false`],
  ])('cancels the delivery when %s, and requests its endpoint again', async (_, change) => {
    const endpoint = await webhooks.endpoint(account);
    const id = await webhooks.enqueue(account, endpoint, await webhooks.plan(account), 1);
    await core.database.query(change);
    const batch = await webhooks.leased.lease([{ endpointId: endpoint, max: 1 }], leaseMs, bounds);
    expect(batch).toEqual({ leased: [], retry: [endpoint] });
    expect(await webhooks.stateOf(id)).toBe('canceled');
  });

  it('never exceeds the slots of an endpoint or an account, with any number of processes', async () => {
    const counts: number[] = [];
    for (const endpoint of [await webhooks.endpoint(account), await webhooks.endpoint(account)]) {
      for (let each = 0; each < 8; each += 1) await enqueued(endpoint);
      const works = await Promise.all([1, 2, 3, 4].map(async () => await webhooks.lease(endpoint, 3)));
      counts.push(works.flat().length);
    }
    expect(counts).toEqual([bounds.perEndpoint, bounds.perAccount - bounds.perEndpoint]);
  });

  it('waits for no lock: another lease of the account is requested again, a locked delivery is skipped', async () => {
    const endpoint = await webhooks.endpoint(account);
    const [first, second] = [await enqueued(endpoint), await enqueued(endpoint)];
    await core.transactions.run(async (tx) => {
      await tx.query(`SELECT 1 FROM webhook_delivery WHERE id = $1 FOR UPDATE`, [first]);
      expect(await webhooks.lease(endpoint, 2)).toMatchObject([{ delivery: { id: second } }]);
      await tx.query(`SELECT pg_advisory_xact_lock(4361, hashint8($1::bigint))`, [account]);
      const batch = await webhooks.leased.lease([{ endpointId: endpoint, max: 2 }], leaseMs, bounds);
      expect(batch).toEqual({ leased: [], retry: [endpoint] });
    });
    expect(await webhooks.lease(endpoint, 2)).toMatchObject([{ delivery: { id: first } }]);
  });

  it('does not request a deleted endpoint again', async () => {
    const batch = await webhooks.leased.lease([{ endpointId: '815', max: 1 }], leaseMs, bounds);
    expect(batch).toEqual({ leased: [], retry: [] });
  });

  it('gives a failing endpoint one slot', async () => {
    const endpoint = await webhooks.endpoint(account);
    for (let each = 0; each < 2; each += 1) await enqueued(endpoint);
    await core.database.query(`UPDATE webhook_endpoint SET failing_since = now(), failed_at = now()`);
    expect(await webhooks.lease(endpoint, 2)).toHaveLength(1);
    expect(await webhooks.lease(endpoint, 2)).toEqual([]);
    expect(await webhooks.leased.waiting()).toMatchObject([{ isFailing: true }]);
  });

  it('delays the newer state of a plan while an older one is in progress', async () => {
    const endpoint = await webhooks.endpoint(account);
    const plan = await webhooks.plan(account);
    await webhooks.enqueue(account, endpoint, plan, 1);
    const older = await leased(endpoint);
    const newer = await webhooks.enqueue(account, endpoint, plan, 2);
    expect(await webhooks.lease(endpoint)).toEqual([]);
    await webhooks.leased.recordAttempt(older.lease, attempt, () => failing());
    expect(await webhooks.stateOf(older.delivery.id)).toBe('superseded');
    await core.database.query(`UPDATE webhook_endpoint SET failing_since = NULL, failed_at = NULL`);
    expect((await leased(endpoint)).delivery.id).toBe(newer);
    const log = await webhooks.log.page(account, endpoint, { after: null, limit: 10 });
    expect(log.map(({ state, attempts }) => [state, attempts.length])).toEqual([
      ['pending', 0],
      ['superseded', 1],
    ]);
  });

  it('returns the previous secret for 24 h after a rotation, and not later', async () => {
    const endpoint = await webhooks.endpoint(account);
    await core.transactions.run(
      async (tx) => await webhooks.endpoints.rotateSecret(tx, account, endpoint, Buffer.from('fresh')),
    );
    await enqueued(endpoint);
    const during = await leased(endpoint);
    expect([during.endpoint.secretSealed, during.endpoint.previousSecretSealed].map(String)).toEqual([
      'fresh',
      'sealed',
    ]);
    await core.database.query(
      `UPDATE webhook_endpoint SET previous_secret_until = previous_secret_until - interval '24 hours'`,
    );
    await enqueued(endpoint);
    expect((await leased(endpoint)).endpoint.previousSecretSealed).toBeNull();
  });

  it('returns every secret of the last 24 h after several rotations, newest first', async () => {
    const endpoint = await webhooks.endpoint(account);
    for (const secret of ['second', 'third', 'fourth'])
      await core.transactions.run(
        async (tx) => await webhooks.endpoints.rotateSecret(tx, account, endpoint, Buffer.from(secret)),
      );
    const secrets = async () => {
      await enqueued(endpoint);
      const { secretSealed, previousSecretSealed, olderSecretsSealed } = (await leased(endpoint)).endpoint;
      return [secretSealed, previousSecretSealed, ...olderSecretsSealed].map(String);
    };
    expect(await secrets()).toEqual(['fourth', 'third', 'second', 'sealed']);
    await core.database.query(
      `UPDATE webhook_endpoint SET older_secrets_until[1] = older_secrets_until[1] - interval '24 hours'`,
    );
    expect(await secrets()).toEqual(['fourth', 'third', 'second']);
    await core.transactions.run(
      async (tx) => await webhooks.endpoints.rotateSecret(tx, account, endpoint, Buffer.from('fifth')),
    );
    expect(await secrets()).toEqual(['fifth', 'fourth', 'third', 'second']);
  });

  it('returns the two newest secrets while the newest migration has not run', async () => {
    const endpoint = await webhooks.endpoint(account);
    const columns = ['older_secrets_sealed', 'older_secrets_until'];
    for (const column of columns)
      await core.database.query(`ALTER TABLE webhook_endpoint RENAME ${column} TO later_${column}`);
    try {
      for (const secret of ['second', 'third'])
        await core.transactions.run(
          async (tx) => await webhooks.endpoints.rotateSecret(tx, account, endpoint, Buffer.from(secret)),
        );
      await enqueued(endpoint);
      const { secretSealed, previousSecretSealed, olderSecretsSealed } = (await leased(endpoint)).endpoint;
      expect([secretSealed, previousSecretSealed, ...olderSecretsSealed].map(String)).toEqual([
        'third',
        'second',
      ]);
    } finally {
      for (const column of columns)
        await core.database.query(`ALTER TABLE webhook_endpoint RENAME later_${column} TO ${column}`);
    }
  });
});

describe('recordDelivered', () => {
  const success = { startedAt: new Date(), durationMs: 12, status: 204, problem: null };

  it('records many successes at once, and skips lost leases, failing endpoints and locked rows', async () => {
    const endpoints = [await webhooks.endpoint(account), await webhooks.endpoint(account)];
    const [sound = '', failed = ''] = endpoints;
    for (const endpoint of [sound, sound, sound, failed]) await enqueued(endpoint);
    const works = [...(await webhooks.lease(sound, 3)), ...(await webhooks.lease(failed))];
    await core.database.query(
      `UPDATE webhook_endpoint SET failing_since = now(), failed_at = now() WHERE id = $1`,
      [failed],
    );
    const [first, lost, locked, ofFailing] = works.map(({ lease }) => ({ lease, attempt: success }));
    if (!first || !lost || !locked || !ofFailing) throw new Error('not leased');
    const stale = { ...lost, lease: { ...lost.lease, token: '0' } };
    await core.transactions.run(async (tx) => {
      await tx.query(`SELECT 1 FROM webhook_delivery WHERE id = $1 FOR UPDATE`, [locked.lease.deliveryId]);
      const recorded = await webhooks.leased.recordDelivered([first, stale, locked, ofFailing]);
      expect([...recorded]).toEqual([first.lease.deliveryId]);
    });
    expect(await webhooks.log.get(account, sound, first.lease.deliveryId)).toMatchObject({
      state: 'delivered',
      attempts: [{ status: 204, durationMs: 12, problem: null }],
    });
    expect(await webhooks.stateOf(lost.lease.deliveryId)).toBe('pending');
    expect([...(await webhooks.leased.recordDelivered([locked]))]).toEqual([locked.lease.deliveryId]);
  });

  it('keeps a delivery superseded that was superseded meanwhile, with its attempt in the log', async () => {
    const endpoint = await webhooks.endpoint(account);
    const plan = await webhooks.plan(account);
    const id = await webhooks.enqueue(account, endpoint, plan, 1);
    const { lease } = await leased(endpoint);
    await webhooks.enqueue(account, endpoint, plan, 2);
    await webhooks.leased.recordDelivered([{ lease, attempt: success }]);
    expect(await webhooks.log.get(account, endpoint, String(id))).toMatchObject({
      state: 'superseded',
      attempts: [{ status: 204 }],
    });
  });
});

describe('an endpoint that is disabled', () => {
  it('by the platform: waiting deliveries are canceled, and its account gets one mail', async () => {
    const endpoint = await webhooks.endpoint(account);
    await core.database.query(`UPDATE account SET contact_email = 'ops@example.com' WHERE id = $1`, [
      account,
    ]);
    for (let each = 0; each < 2; each += 1) await enqueued(endpoint);
    const works = await webhooks.lease(endpoint, 2);
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

  it('by its owner: waiting deliveries are canceled; when enabled again it starts from scratch', async () => {
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
    for (let each = 0; each < 2; each += 1) await enqueued(endpoint);
    const works = await webhooks.lease(endpoint, 2);
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
  it('are limited in number per account, and belong to one account only', async () => {
    for (let each = 0; each < maxWebhookEndpoints; each += 1) await webhooks.endpoint(account);
    await webhooks.endpoint(account);
    const own = await webhooks.endpoints.ofAccount(account);
    expect(own).toHaveLength(maxWebhookEndpoints);
    const id = own[0]?.id ?? '';
    expect(await webhooks.endpoints.get('4712', id)).toBeNull();
    await core.transactions.run(async (tx) => {
      expect(await webhooks.endpoints.update(tx, '4712', id, { enabled: false })).toBeNull();
      expect(await webhooks.endpoints.rotateSecret(tx, '4712', id, Buffer.from('x'))).toBeNull();
      expect(await webhooks.endpoints.delete(tx, '4712', id)).toBe(false);
      expect(await webhooks.endpoints.delete(tx, account, id)).toBe(true);
    });
  });

  it('reset their failures when the URL changes', async () => {
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
