import { randomBytes } from 'node:crypto';
import { attachedCertificate, attachOpen, validity } from '@certwright/core-testing';
import { prices, PurchaseFixture } from '@certwright/core-testing';
import { coreDataSource } from '@certwright/core-schema';
import { requestKey, Revocations } from '@certwright/ordering';
import type { DataSource } from 'typeorm';
import type { Renewals } from './renewals.repository';
import { renewalsOver } from './testing/stored-renewals';

const dayMs = 86_400_000;
const accountId = '1000000000001';
const names = ['a.example.com'];
const now = new Date();
const daysOn = (days: number, minutes = 0) => new Date(now.getTime() + days * dayMs + minutes * 60_000);

let fixture: PurchaseFixture;
let asWorker: DataSource;
let renewals: Renewals;
beforeAll(async () => {
  fixture = await PurchaseFixture.open();
  await fixture.core.account(accountId);
  asWorker = await coreDataSource({
    ...{ url: fixture.core.urlOf('issuance-worker'), applicationName: 'spec' },
    ...{ poolSize: 5, statementTimeoutMs: 10_000 },
  }).initialize();
  renewals = renewalsOver(asWorker);
}, 30_000);
afterAll(async () => {
  await asWorker.destroy();
  await fixture.core.close();
});
afterEach(async () => {
  await query(`UPDATE plan SET closed_at = now() WHERE closed_at IS NULL`);
});

const query = async <T>(statement: string, ...parameters: unknown[]): Promise<T[]> =>
  await fixture.core.database.query(statement, parameters);
const requestsOf = async (planId: string) =>
  await query<{ reason: string; falls_back_at: Date | null }>(
    `SELECT reason, falls_back_at FROM key_request WHERE plan_id = $1`,
    planId,
  );
const issuancesOf = async (planId: string) =>
  await query<{ terms_id: string; replaces: string | null }>(
    `SELECT terms_id, replaces_certificate_id AS replaces FROM issuance WHERE plan_id = $1 ORDER BY id`,
    planId,
  );
const makesKeys = async (planId: string, atRenewal = true) =>
  await query(`UPDATE plan SET makes_keys = true, new_key_at_renewal = $2 WHERE id = $1`, planId, atRenewal);

/** A plan whose owner makes keys, with a certificate of 90 days. */
async function plan(atRenewal = true) {
  const attached = await attachedCertificate(fixture.core, accountId, validity(-1, 89, now));
  await makesKeys(attached.planId, atRenewal);
  return attached;
}

/** What the owner does with a response to a key request. */
async function respond(planId: string, product = 'free_ca', dnsNames = names): Promise<string> {
  return await fixture.core.transactions.run(async (tx) => {
    await tx.query(`SELECT 1 FROM plan WHERE id = $1 FOR UPDATE`, [planId]);
    await tx.query(`DELETE FROM key_request WHERE plan_id = $1`, [planId]);
    const terms = {
      ...{ product, dnsNames, keyType: 'ecdsa' as const, csr: randomBytes(8) },
      ...{ spkiSha256: randomBytes(32), approverEmails: {} },
    };
    const termsId = await fixture.core.plans.setTerms(tx, planId, terms);
    await tx.query(`UPDATE plan SET revision = revision + 1, renew_at = clock_timestamp() WHERE id = $1`, [
      planId,
    ]);
    return termsId;
  });
}

it('requests a new key once, and opens nothing meanwhile', async () => {
  const { planId } = await plan();
  for (const minutes of [0, 1, 59]) {
    expect((await renewals.openDue(10, daysOn(59, minutes))).opened).toBe(0);
    const [request, ...more] = await requestsOf(planId);
    expect(more).toEqual([]);
    expect(request).toEqual({ reason: 'renewal', falls_back_at: daysOn(59, 60) });
  }
  expect(await issuancesOf(planId)).toHaveLength(1);
});

it('requests keys by ids that do not reveal how many requests there are', async () => {
  for (let order = 0; order < 2; order += 1) await plan();
  await renewals.openDue(10, daysOn(59));
  const requests = await query<{ id: string }>(
    `SELECT id FROM key_request ORDER BY requested_at DESC LIMIT 2`,
  );
  const [one, other] = requests.map(({ id }) => Number(id)) as [number, number];
  expect(Math.abs(one - other)).toBeGreaterThan(1_000);
});

it('issues one certificate with the new key once the owner has responded', async () => {
  const { planId, certificateId } = await plan();
  await renewals.openDue(10, daysOn(59));
  const termsId = await respond(planId);
  expect((await renewals.openDue(10, daysOn(59, 1))).opened).toBe(1);
  expect(await requestsOf(planId)).toEqual([]);
  await attachOpen(fixture.core, planId, validity(59, 149, now));
  for (const minutes of [2, 60, 120]) await renewals.openDue(10, daysOn(59, minutes));
  const [, ...renewed] = await issuancesOf(planId);
  expect(renewed).toEqual([{ terms_id: termsId, replaces: certificateId }]);
});

it('goes on with the present key after an hour without a response, and ends the request', async () => {
  const { planId, certificateId } = await plan();
  const [first] = await issuancesOf(planId);
  await renewals.openDue(10, daysOn(59));
  expect((await renewals.openDue(10, daysOn(59, 60))).opened).toBe(1);
  expect(await requestsOf(planId)).toEqual([]);
  expect((await issuancesOf(planId))[1]).toEqual({ terms_id: first?.terms_id, replaces: certificateId });
});

it('does not wait when the owner wants no new key at renewals', async () => {
  const { planId } = await plan(false);
  expect((await renewals.openDue(10, daysOn(59))).opened).toBe(1);
  expect(await requestsOf(planId)).toEqual([]);
});

it('keeps a request for another reason when it goes on', async () => {
  const { planId } = await plan();
  await fixture.core.transactions.run(async (tx) => await requestKey(tx, planId, 'rekey'));
  expect((await renewals.openDue(10, daysOn(59))).opened).toBe(1);
  expect(await requestsOf(planId)).toEqual([{ reason: 'rekey', falls_back_at: null }]);
});

it('waits for the key that is requested instead of the key of a revoked renewal', async () => {
  const { planId } = await plan();
  await renewals.openDue(10, daysOn(59));
  await respond(planId);
  await renewals.openDue(10, daysOn(59, 1));
  const { certificateId } = await attachOpen(fixture.core, planId, validity(-0.01, 89.99, now));
  const revocation = { planId, certificateId, reason: 4, requestedBy: 'subscriber' } as const;
  await fixture.core.transactions.run(async (tx) => await new Revocations().request(tx, revocation));
  expect(await requestsOf(planId)).toEqual([{ reason: 'rekey', falls_back_at: null }]);
  await query(`UPDATE plan SET renew_at = now() WHERE id = $1`, planId);
  expect((await renewals.openDue(10, daysOn(0, 30))).opened).toBe(0);
  expect((await renewals.openDue(10, daysOn(0, 61))).opened).toBe(1);
  expect((await issuancesOf(planId)).at(-1)).toMatchObject({ replaces: certificateId });
});

it('requests each key once, whatever the number of workers', async () => {
  const plans = await Promise.all(Array.from({ length: 12 }, async () => await plan()));
  await Promise.all(Array.from({ length: 4 }, async () => await renewals.openDue(5, daysOn(60))));
  await Promise.all(Array.from({ length: 4 }, async () => await renewals.openDue(5, daysOn(60))));
  for (const { planId } of plans) {
    expect(await requestsOf(planId)).toHaveLength(1);
    expect(await issuancesOf(planId)).toHaveLength(1);
  }
});

describe('the last certificate of a paid term', () => {
  const chargesOf = async (planId: string) =>
    await fixture.count(`FROM charge WHERE plan_id = $1 AND refunded_at IS NULL`, planId);

  async function paidPlan(): Promise<string> {
    const payer = await fixture.account(2 * prices.name);
    const planId = await fixture.plan(payer, names);
    await fixture.buy(planId, { kind: 'term' });
    await attachOpen(fixture.core, planId, validity(0, 365, now));
    await makesKeys(planId);
    return planId;
  }

  it.each([
    ['with the new key once the owner has responded', true],
    ['with the present key after an hour', false],
  ])('is bought once, %s', async (_, responds) => {
    const planId = await paidPlan();
    const [first] = await issuancesOf(planId);
    await renewals.openDue(10, daysOn(340));
    expect(await chargesOf(planId)).toBe(1);
    expect(await requestsOf(planId)).toHaveLength(1);
    const termsId = responds ? await respond(planId, 'paid_ca') : first?.terms_id;
    expect((await renewals.openDue(10, daysOn(340, 60))).opened).toBe(1);
    for (const minutes of [61, 120, 180]) await renewals.openDue(10, daysOn(340, minutes));
    expect(await chargesOf(planId)).toBe(2);
    expect(await requestsOf(planId)).toEqual([]);
    expect((await issuancesOf(planId)).slice(1)).toEqual([
      { terms_id: termsId, replaces: expect.any(String) as string },
    ]);
  });
});
