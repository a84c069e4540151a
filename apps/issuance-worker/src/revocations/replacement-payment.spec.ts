import { PurchaseFixture } from '@certwright/core-testing';
import { UnusedCharges } from '../purchases/unused-charges';
import { attachOpen, validity } from '@certwright/core-testing';
import { Revocations } from '@certwright/ordering';

const names = ['a.example.com'];
const price = 1_000;

let fixture: PurchaseFixture;
beforeAll(async () => {
  fixture = await PurchaseFixture.open();
}, 30_000);
afterAll(async () => await fixture.core.close());

/** A plan whose certificate is in its first term, with a second term charged for and not issued. */
async function renewing() {
  const accountId = await fixture.account(2 * price);
  const planId = await fixture.plan(accountId, names);
  await fixture.buy(planId, { kind: 'term' });
  const { certificateId } = await attachOpen(fixture.core, planId, validity(0, 365));
  const { paid_through: paidThrough } = await fixture.paidOf(planId);
  await fixture.buy(planId, { kind: 'term' });
  return { accountId, planId, certificateId, paidThrough };
}

async function replacementOf({ planId, certificateId }: Awaited<ReturnType<typeof renewing>>) {
  const request = { planId, certificateId, reason: 4, requestedBy: 'subscriber' } as const;
  await fixture.core.transactions.run(async (tx) => await new Revocations().request(tx, request));
  const [row] = await fixture.core.database.query<[{ expires_by: Date }?]>(
    `SELECT expires_by FROM issuance WHERE plan_id = $1 AND state = 'open' AND replaces_certificate_id = $2`,
    [planId, certificateId],
  );
  return row;
}

describe('the replacement of a revoked certificate', () => {
  it.each(['failed', 'canceled'] as const)(
    'does not count a purchase that has %s and is about to be refunded',
    async (state) => {
      const plan = await renewing();
      await fixture.end(plan.planId, state);
      expect(await replacementOf(plan)).toEqual({ expires_by: plan.paidThrough });
      await new UnusedCharges(fixture.core.database, fixture.core.transactions).settle(1_000);
      expect(await fixture.balanceOf(plan.accountId)).toBe(price);
      expect((await fixture.paidOf(plan.planId)).paid_through).toEqual(plan.paidThrough);
    },
  );

  it('lasts for the term of a purchase that led to a certificate', async () => {
    const plan = await renewing();
    const { certificateId } = await attachOpen(fixture.core, plan.planId, validity(0.01, 366));
    const { paid_through: paidThrough } = await fixture.paidOf(plan.planId);
    expect(await replacementOf({ ...plan, certificateId })).toEqual({ expires_by: paidThrough });
    expect(paidThrough?.getTime()).toBeGreaterThan(plan.paidThrough?.getTime() ?? 0);
  });
});
