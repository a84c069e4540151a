import type { NameApproval } from '@certwright/issuance';
import { neutralMessage } from '@certwright/outcome-messages';
import { LeaseLost } from '@certwright/postgres';
import type { AcmeChallenge, Lease } from '@certwright/core-schema';
import { attachOpen, validity } from '@certwright/core-testing';
import { caAccount } from '../../testing/ca-accounts';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { acmeReference, AcmeOrders, OrderTaken } from './acme-orders';

const accountId = '1000000000001';
const authority = 'public-ca';
const dnsNames = ['a.example.com'];
/** A new one for each spec: an order belongs to one issuance. */
let orderUrl: string;
let orderNumber = 0;
beforeEach(() => (orderUrl = `https://public-ca.example/order/${(orderNumber += 1)}`));

let core: CoreDatabaseFixture;
let orders: AcmeOrders;
let caAccountId: string;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  orders = new AcmeOrders(core.database);
  await core.account(accountId);
  caAccountId = await caAccount(core, authority);
});
afterAll(async () => await core.close());

interface Leased {
  readonly planId: string;
  readonly lease: Lease;
}

async function leased(): Promise<Leased> {
  const { planId, termsId } = await core.plan(accountId, dnsNames);
  const opening = { planId, accountId, termsId, revision: 1, dnsNames, settlingMs: 0 };
  const id = await core.transactions.run(async (tx) => await core.issuances.open(tx, opening));
  return { planId, lease: await leaseOf(id) };
}

async function leaseOf(issuanceId: string): Promise<Lease> {
  const work = await core.leased.lease(issuanceId, 60_000);
  if (work === null) throw new Error('an issuance that is due can be leased');
  return work.lease;
}

const wanted = () => ({ authority, caAccountId, profile: 'classic', replaces: null });
const beginning = { approvals: [], keepForMs: 60_000 };
const begin = async (lease: Lease) => (await orders.begin(lease, wanted(), beginning)).order.id;

/** All ways in which a lease ends. */
const losses: Readonly<Record<string, (leased: Leased) => Promise<void>>> = {
  'has run out': async ({ lease }) =>
    void (await core.database.query(
      `UPDATE issuance SET leased_until = now() - interval '1 s' WHERE id = $1`,
      [lease.issuanceId],
    )),
  'went to another worker': async ({ lease }) => {
    await core.leased.save(lease, { dueAt: new Date(0) }, 'release');
    await leaseOf(lease.issuanceId);
  },
  'ended with the issuance': async ({ planId }) =>
    void (await core.transactions.run(
      async (tx) => await core.issuances.closeOpen(tx, planId, 'superseded'),
    )),
};

const ended = { code: 'ca_attempt_ended', authority } as const;

const writes: Readonly<Record<string, (lease: Lease, id: string) => Promise<unknown>>> = {
  begin,
  opened: async (lease, id) => await orders.opened(lease, id, orderUrl),
  challenged: async (lease, id) => await orders.challenged(lease, id, []),
  withoutReplaces: async (lease, id) => await orders.withoutReplaces(lease, id),
  finalizing: async (lease, id) => await orders.finalizing(lease, id, null),
  issued: async (lease, id) => await orders.issued(lease, id, 'https://public-ca.example/cert/1'),
  failed: async (lease, id) => await orders.failed(lease, id, ended),
};

describe.each(Object.keys(losses))('under a lease that %s', (loss) => {
  it.each(Object.keys(writes))('%s writes nothing', async (write) => {
    const subject = await leased();
    const id = await begin(subject.lease);
    await orders.opened(subject.lease, id, orderUrl);
    const before = await orders.byId(id);
    await losses[loss]?.(subject);
    await expect(writes[write]?.(subject.lease, id)).rejects.toThrow(LeaseLost);
    expect(await orders.byId(id)).toEqual(before);
  });

  it('begins no order', async () => {
    const subject = await leased();
    await losses[loss]?.(subject);
    await expect(begin(subject.lease)).rejects.toThrow(LeaseLost);
    expect(await orders.standing(subject.lease.issuanceId)).toBeNull();
  });
});

it('is begun once, also by repeated and concurrent calls', async () => {
  const { lease } = await leased();
  const ids = await Promise.all(Array.from({ length: 20 }, async () => await begin(lease)));
  expect(new Set(ids).size).toBe(1);
  expect(await orders.standing(lease.issuanceId)).toMatchObject({
    id: ids[0],
    state: 'wanted',
    orderUrl: null,
  });
});

it('is stored together with its reference, the approvals and a longer lease', async () => {
  const { lease } = await leased();
  const stored = async () => {
    const [row] = await core.database.query<[Record<string, unknown>]>(
      `SELECT ca_reference, approvals, last_error, leased_until > now() + interval '10 min' AS "isLong"
       FROM issuance WHERE id = $1`,
      [lease.issuanceId],
    );
    return row;
  };
  const [approval] = ((await stored()).approvals as readonly NameApproval[]).map((each) => {
    return { ...each, problem: null, status: 'approved' as const, method: 'dns' as const };
  });
  if (approval === undefined) throw new Error('the issuance has one name');
  const kept = { approvals: [approval], keepForMs: 3_600_000 };
  const { order, isKept } = await orders.begin(lease, wanted(), kept);
  expect(isKept).toBe(true);
  expect(await stored()).toMatchObject({
    ca_reference: acmeReference(order.id),
    approvals: [{ dnsName: 'a.example.com', status: 'approved' }],
    last_error: null,
    isLong: true,
  });
  expect(await orders.begin(lease, wanted(), beginning)).toEqual({ order, isKept: false });
});

it('is a new one after a failure', async () => {
  const { lease } = await leased();
  const first = await begin(lease);
  const down = { code: 'ca_unreachable', authority, detail: 'no route' } as const;
  await orders.failed(lease, first, down);
  await orders.failed(lease, first, ended);
  const second = await begin(lease);
  expect(second).not.toBe(first);
  const failed = await orders.byId(first);
  expect(failed).toMatchObject({ state: 'failed', outcome: down, closedAt: expect.any(Date) });
  expect(failed?.problem).toBe(neutralMessage(down));
  // Late writes do not reopen the first one.
  await expect(orders.opened(lease, first, orderUrl)).rejects.toThrow('rejects the change');
});

it('moves from wanted to issued, and every step is idempotent', async () => {
  const { lease } = await leased();
  const id = await begin(lease);
  await orders.withoutReplaces(lease, id);
  for (const write of ['opened', 'challenged', 'finalizing', 'issued', 'issued'])
    await writes[write]?.(lease, id);
  expect(await orders.byId(id)).toMatchObject({
    state: 'issued',
    orderUrl,
    certificateUrl: 'https://public-ca.example/cert/1',
    finalizedAt: expect.any(Date),
  });
  await expect(orders.finalizing(lease, id, null)).rejects.toThrow('rejects the change');
});

it('keeps the time of the first finalize', async () => {
  const { lease } = await leased();
  const id = await begin(lease);
  await orders.opened(lease, id, orderUrl);
  await orders.finalizing(lease, id, null);
  const first = (await orders.byId(id))?.finalizedAt;
  await orders.finalizing(lease, id, null);
  expect((await orders.byId(id))?.finalizedAt).toEqual(first);
});

it('gets new challenges together with the time of finalize', async () => {
  const { lease } = await leased();
  const id = await begin(lease);
  await orders.opened(lease, id, orderUrl);
  const challenges: AcmeChallenge[] = [
    {
      dnsName: 'a.example.com',
      wildcard: false,
      type: 'dns-01',
      token: 'token',
      authorizationUrl: 'https://public-ca.example/authz/1',
      challengeUrl: 'https://public-ca.example/chall/1',
      respondedAt: new Date().toISOString(),
    },
  ];
  await orders.finalizing(lease, id, challenges);
  await orders.finalizing(lease, id, null);
  expect(await orders.byId(id)).toMatchObject({ challenges, finalizedAt: expect.any(Date) });
});

it('never replaces its URL by another one', async () => {
  const { lease } = await leased();
  const id = await begin(lease);
  await orders.opened(lease, id, orderUrl);
  await orders.opened(lease, id, orderUrl);
  await expect(orders.opened(lease, id, `${orderUrl}2`)).rejects.toThrow('rejects the change');
  expect((await orders.byId(id))?.orderUrl).toBe(orderUrl);
});

it('belongs to its issuance: another lease changes nothing', async () => {
  const [{ lease }, { lease: other }] = [await leased(), await leased()];
  const id = await begin(lease);
  await expect(orders.failed(other, id, ended)).rejects.toThrow('rejects the change');
  expect((await orders.byId(id))?.state).toBe('wanted');
});

it('is found only by the reference of its certificate', async () => {
  const { lease } = await leased();
  const id = await begin(lease);
  expect(await orders.ofReference(acmeReference(id))).toMatchObject({ id, authority, caAccountId });
  for (const reference of [id, `acme:${id}x`, 'acme:', 'acme:0', `acme:${'9'.repeat(19)}`, `built-in:${id}`])
    expect(await orders.ofReference(reference)).toBeNull();
});

describe('the replaced certificate', () => {
  it('has its ARI identifier, CA and account', async () => {
    const { planId, lease } = await leased();
    const id = await begin(lease);
    await orders.opened(lease, id, orderUrl);
    await orders.issued(lease, id, 'https://public-ca.example/cert/1');
    await core.leased.save(lease, {}, 'release');
    const { certificateId } = await attachOpen(core, planId, validity(-1, 89), {
      renewalInfo: { authority, ariId: 'aki.serial' },
    });
    const issuanceId = await replacing(planId, certificateId);
    const replaced = { authority, caAccountId, ariId: 'aki.serial' };
    expect(await orders.before(issuanceId)).toEqual({ standingId: null, replaced });
  });

  it('is null for a first certificate', async () => {
    const { lease } = await leased();
    expect(await orders.before(lease.issuanceId)).toEqual({ standingId: null, replaced: null });
    const standingId = await begin(lease);
    expect(await orders.before(lease.issuanceId)).toEqual({ standingId, replaced: null });
  });
});

/** An issuance that replaces the certificate. */
async function replacing(planId: string, certificateId: string): Promise<string> {
  const [row] = await core.database.query<[{ id: string }]>(
    `INSERT INTO issuance (plan_id, account_id, terms_id, revision, replaces_certificate_id, state, approvals, due_at)
     SELECT id, account_id, terms_id, revision, $2, 'open', '[]', now() FROM plan WHERE id = $1 RETURNING id`,
    [planId, certificateId],
  );
  return row.id;
}

describe('an order that the CA returns twice', () => {
  it('belongs to the first issuance while that is open', async () => {
    const [one, other] = [await leased(), await leased()];
    const [first, second] = [await begin(one.lease), await begin(other.lease)];
    await orders.opened(one.lease, first, orderUrl);
    await expect(orders.opened(other.lease, second, orderUrl)).rejects.toThrow(OrderTaken);
    expect(await orders.byId(second)).toMatchObject({ state: 'wanted', orderUrl: null });
    // Repeated by its own issuance, as after a crash.
    await orders.opened(one.lease, first, orderUrl);
  });

  it('moves to the next issuance once the first has ended without finalize', async () => {
    const [one, other] = [await leased(), await leased()];
    const [first, second] = [await begin(one.lease), await begin(other.lease)];
    await orders.opened(one.lease, first, orderUrl);
    await losses['ended with the issuance']?.(one);
    await orders.opened(other.lease, second, orderUrl);
    expect(await orders.byId(first)).toMatchObject({ state: 'failed' });
    expect(await orders.byId(second)).toMatchObject({ state: 'open', orderUrl });
  });

  it('never moves to another issuance after finalize', async () => {
    const [one, other] = [await leased(), await leased()];
    const [first, second] = [await begin(one.lease), await begin(other.lease)];
    await orders.opened(one.lease, first, orderUrl);
    await orders.finalizing(one.lease, first, null);
    await losses['ended with the issuance']?.(one);
    await expect(orders.opened(other.lease, second, orderUrl)).rejects.toThrow(OrderTaken);
  });
});
