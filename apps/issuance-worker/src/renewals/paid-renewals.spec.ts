import { randomBytes, randomInt } from 'node:crypto';
import { brokenRules } from '@certwright/core-testing';
import { FailingDatabase } from '@certwright/core-testing';
import { prices, PurchaseFixture } from '@certwright/core-testing';
import { UnusedCharges } from '../purchases/unused-charges';
import { attachOpen, validity } from '@certwright/core-testing';
import { coreDataSource, Transactions, type Tx } from '@certwright/core-schema';
import type { DataSource } from 'typeorm';
import type { Renewals } from './renewals.repository';
import { renewalsOver } from './testing/stored-renewals';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const one = ['a.example.com'];
const now = new Date();
const daysOn = (days: number) => new Date(now.getTime() + days * dayMs);

let fixture: PurchaseFixture;
let asWorker: DataSource;
let renewals: Renewals;
beforeAll(async () => {
  fixture = await PurchaseFixture.open();
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
  expect(await brokenRules(fixture.core.database)).toEqual([]);
  // Work left open by one test must not affect the next one.
  await query(`UPDATE plan SET closed_at = now() WHERE closed_at IS NULL`);
});

const query = async <T>(statement: string, ...parameters: unknown[]): Promise<T[]> =>
  await fixture.core.database.query(statement, parameters);
const change = async (planId: string, assignments: string) =>
  await query(`UPDATE plan SET ${assignments} WHERE id = $1`, planId);

interface PlanRow {
  readonly renew_at: Date | null;
  readonly replacement_paid: boolean;
  readonly paid_through: Date;
}
async function planOf(planId: string): Promise<PlanRow> {
  const [row] = await query<PlanRow>(
    `SELECT renew_at, replacement_paid, paid_through FROM plan WHERE id = $1`,
    planId,
  );
  if (row === undefined) throw new Error('the plan is there');
  return row;
}
const replacementsOf = async (planId: string) =>
  await query<{ id: string; state: string; terms_id: string; expires_by: Date | null; approvals: object[] }>(
    `SELECT id, state, terms_id, expires_by, approvals FROM issuance
     WHERE plan_id = $1 AND replaces_certificate_id IS NOT NULL ORDER BY id`,
    planId,
  );
const chargesOf = async (planId: string) =>
  await fixture.count(`FROM charge WHERE plan_id = $1 AND refunded_at IS NULL`, planId);
const mailsOf = async (accountId: string) =>
  await fixture.count(`FROM mail WHERE account_id = $1 AND kind = 'renewal-unpaid'`, accountId);

async function settle(): Promise<void> {
  await new UnusedCharges(asWorker, new Transactions(asWorker)).settle(1_000);
}

/** Opens a renewal that fails permanently, and refunds what is to be refunded. */
async function failOn(planId: string, time: Date, code = 'ca_rejected'): Promise<void> {
  await renewals.openDue(10, time);
  await query(
    `UPDATE issuance SET state = 'failed', closed_at = $2, last_error = jsonb_build_object('code', $3::text)
     WHERE plan_id = $1 AND state = 'open'`,
    ...[planId, time, code],
  );
  await settle();
}

interface Paid {
  readonly accountId: string;
  readonly planId: string;
}

/** A plan with a bought term and a certificate valid for the given number of days. */
async function paidFor(lasts: number, cents = prices.name, dnsNames = one): Promise<Paid> {
  const accountId = await fixture.account(cents);
  await query(`UPDATE account SET contact_email = id || '@example.com' WHERE id = $1`, accountId);
  const planId = await fixture.plan(accountId, dnsNames);
  await fixture.buy(planId, { kind: 'term' });
  await attachOpen(fixture.core, planId, validity(0, lasts, now));
  return { accountId, planId };
}

describe('a certificate that ends before its term', () => {
  it('is replaced at a third of its lifetime without charge, also without auto_renew', async () => {
    const { planId } = await paidFor(90);
    await change(planId, `auto_renew = false`);
    const { renew_at: renewAt, replacement_paid, paid_through } = await planOf(planId);
    expect(replacement_paid).toBe(true);
    expect(renewAt?.getTime()).toBeLessThanOrEqual(daysOn(60).getTime());
    expect(renewAt?.getTime()).toBeGreaterThan(daysOn(57).getTime());
    expect(await renewals.openDue(10, daysOn(56))).toEqual({ found: 0, opened: 0, unpaid: [] });
    expect(await renewals.openDue(10, daysOn(60))).toEqual({ found: 1, opened: 1, unpaid: [] });
    const [replacement] = await replacementsOf(planId);
    expect(replacement).toMatchObject({ state: 'open', expires_by: paid_through });
    expect(await chargesOf(planId)).toBe(1);
  });

  it('is replaced from its own terms and approval methods when the present ones are not paid', async () => {
    const { planId } = await paidFor(90);
    const [own] = await query<{ terms_id: string }>(`SELECT terms_id FROM plan WHERE id = $1`, planId);
    await fixture.core.transactions.run(
      async (tx) =>
        await fixture.core.plans.setTerms(tx, planId, {
          product: 'paid_ca',
          dnsNames: [...one, 'b.example.com'],
          keyType: 'ecdsa',
          csr: randomBytes(8),
          spkiSha256: randomBytes(32),
          approverEmails: {},
          approvalWays: { 'a.example.com': { method: 'http', approverEmail: null, recordAt: null } },
        }),
    );
    await renewals.openDue(10, daysOn(60));
    const [replacement] = await replacementsOf(planId);
    expect(replacement?.terms_id).toBe(own?.terms_id);
    expect(replacement?.approvals).toEqual([expect.objectContaining({ dnsName: 'a.example.com' })]);
    expect(replacement?.approvals).not.toContainEqual(
      expect.objectContaining({ way: expect.anything() as object }),
    );
  });

  it('is replaced from the present terms and approval methods when they are paid', async () => {
    const { planId } = await paidFor(90);
    const way = { method: 'http', approverEmail: null, recordAt: null } as const;
    const termsId = await fixture.core.transactions.run(
      async (tx) =>
        await fixture.core.plans.setTerms(tx, planId, {
          product: 'paid_ca',
          dnsNames: ['b.example.com'],
          keyType: 'ecdsa',
          csr: randomBytes(8),
          spkiSha256: randomBytes(32),
          approverEmails: {},
          approvalWays: { 'b.example.com': way },
        }),
    );
    await renewals.openDue(10, daysOn(60));
    const [replacement] = await replacementsOf(planId);
    expect(replacement).toMatchObject({ terms_id: termsId, approvals: [{ dnsName: 'b.example.com', way }] });
  });

  it('is replaced in one transaction for any number of plans', async () => {
    const transactions = async (plans: number) => {
      for (let count = 0; count < plans; count += 1) await paidFor(90);
      const spy = jest.spyOn(asWorker, 'transaction');
      expect((await renewals.openDue(100, daysOn(60))).opened).toBe(plans);
      const calls = spy.mock.calls.length;
      spy.mockRestore();
      await query(`UPDATE plan SET closed_at = now() WHERE closed_at IS NULL`);
      return calls;
    };
    expect([await transactions(1), await transactions(12)]).toEqual([1, 1]);
  });
});

describe('the last certificate of a term', () => {
  it('is replaced by buying the next term when 30 days are left', async () => {
    const { accountId, planId } = await paidFor(365, 2 * prices.name);
    const { renew_at: renewAt, replacement_paid, paid_through } = await planOf(planId);
    expect(replacement_paid).toBe(false);
    expect(renewAt?.getTime()).toBeGreaterThanOrEqual(daysOn(335).getTime());
    expect(renewAt?.getTime()).toBeLessThan(daysOn(336).getTime());
    expect((await renewals.openDue(10, daysOn(334))).found).toBe(0);
    expect(await renewals.openDue(10, daysOn(336))).toEqual({ found: 1, opened: 1, unpaid: [] });
    const [replacement] = await replacementsOf(planId);
    expect(replacement?.state).toBe('open');
    expect(replacement?.expires_by).toEqual(daysOn(336 + 365));
    expect((await planOf(planId)).paid_through.getTime()).toBe(paid_through.getTime() + 365 * dayMs);
    expect(await fixture.balanceOf(accountId)).toBe(0);
    await attachOpen(fixture.core, planId, validity(336, 336 + 365, now));
    // The bought one ends a year after the purchase; the rest of the term follows without charge.
    expect(await planOf(planId)).toMatchObject({ replacement_paid: true });
  });

  it('is bought once, with any number of workers and repetitions', async () => {
    const plans: string[] = [];
    const accountId = await fixture.account(100 * prices.name);
    for (let count = 0; count < 8; count += 1) {
      const planId = await fixture.plan(accountId, one);
      await fixture.buy(planId, { kind: 'term' });
      await attachOpen(fixture.core, planId, validity(0, 365, now));
      plans.push(planId);
    }
    for (let round = 0; round < 2; round += 1) {
      await Promise.all(Array.from({ length: 5 }, async () => await renewals.openDue(3, daysOn(336))));
      await query(`UPDATE plan SET renew_at = now() WHERE id = ANY($1::bigint[])`, plans);
    }
    await renewals.openDue(100, daysOn(336));
    for (const planId of plans) {
      expect(await replacementsOf(planId)).toHaveLength(1);
      expect(await chargesOf(planId)).toBe(2);
    }
    expect(await fixture.balanceOf(accountId)).toBe(84 * prices.name);
  });

  it.each([
    ['auto_renew is false', 'auto_renew = false'],
    ['the plan is paused', 'paused = true'],
    ['the plan is closed', 'closed_at = now()'],
    ['the CSR is missing', 'terms_id = NULL'],
  ])('is not bought while %s', async (_, assignments) => {
    const { planId } = await paidFor(365, 2 * prices.name);
    await change(planId, assignments);
    expect((await renewals.openDue(10, daysOn(336))).opened).toBe(0);
    expect(await chargesOf(planId)).toBe(1);
  });

  it.each([
    ['paused', 'paused = true'],
    ['closed', 'closed_at = now()'],
    ['not to be renewed', 'auto_renew = false'],
  ])('is not bought when the plan is %s between check and purchase', async (_, assignments) => {
    const { planId } = await paidFor(365, 2 * prices.name);
    const run = Transactions.prototype.run;
    let runs = 0;
    const spy = jest.spyOn(Transactions.prototype, 'run').mockImplementation(async function (
      this: Transactions,
      work: (tx: Tx) => Promise<unknown>,
    ) {
      runs += 1;
      if (runs === 2) await change(planId, assignments);
      return await run.call(this, work);
    } as Transactions['run']);
    expect(await renewals.openDue(10, daysOn(336))).toMatchObject({ found: 1, opened: 0, unpaid: [] });
    spy.mockRestore();
    expect(runs).toBe(2);
    expect(await chargesOf(planId)).toBe(1);
  });

  it('is bought when auto_renew is set in its last days', async () => {
    const { planId } = await paidFor(365, 2 * prices.name);
    await change(planId, `auto_renew = false`);
    await renewals.openDue(10, daysOn(340));
    await change(planId, `auto_renew = true`);
    expect((await renewals.openDue(10, daysOn(350))).opened).toBe(1);
  });

  it('is not due once nothing is paid for it and auto_renew is off', async () => {
    const { planId } = await paidFor(90);
    await change(planId, `auto_renew = false`);
    await fixture.core.transactions.run(async (tx) => await fixture.purchases.endPaidTerm(tx, planId));
    await change(planId, `replacement_paid = true`);
    const before = await planOf(planId);
    expect((await renewals.openDue(10, daysOn(80))).opened).toBe(0);
    expect(await planOf(planId)).toMatchObject({ replacement_paid: false, renew_at: before.renew_at });
    expect((await renewals.openDue(10, daysOn(80))).found).toBe(0);
  });

  it('waits while the product is not available', async () => {
    const { planId } = await paidFor(365, 2 * prices.name);
    await query(`UPDATE product SET available = false WHERE name = 'paid_ca'`);
    expect((await renewals.openDue(10, daysOn(336))).opened).toBe(0);
    await query(`UPDATE product SET available = true WHERE name = 'paid_ca'`);
    expect(await chargesOf(planId)).toBe(1);
    expect((await renewals.openDue(10, daysOn(337))).opened).toBe(1);
  });

  it('waits while the account is disabled, without a mail', async () => {
    const { accountId, planId } = await paidFor(365, 2 * prices.name);
    await query(`UPDATE account SET disabled_at = now() WHERE id = $1`, accountId);
    expect(await renewals.openDue(10, daysOn(336))).toEqual({ found: 1, opened: 0, unpaid: [] });
    expect(await chargesOf(planId)).toBe(1);
    await query(`UPDATE account SET disabled_at = NULL WHERE id = $1`, accountId);
    expect((await renewals.openDue(10, new Date(daysOn(336).getTime() + hourMs))).opened).toBe(1);
  });

  it('is charged once however often it fails, and refunded when it is not tried again', async () => {
    const { accountId, planId } = await paidFor(365, 2 * prices.name);
    const before = await planOf(planId);
    for (let days = 336; days < 365; days += 1) await failOn(planId, daysOn(days));
    expect(await replacementsOf(planId)).toHaveLength(29);
    expect(await fixture.balanceOf(accountId)).toBe(0);
    const entries = `FROM ledger_entry WHERE account_id = $1 AND kind IN ('charge', 'refund')`;
    expect(await fixture.count(entries, accountId)).toBe(2);
    await change(planId, `auto_renew = false`);
    await settle();
    expect(await fixture.balanceOf(accountId)).toBe(prices.name);
    expect((await planOf(planId)).paid_through).toEqual(before.paid_through);
    expect(await chargesOf(planId)).toBe(1);
  });

  it('keeps the paid end and charges names that were added since it failed', async () => {
    const { accountId, planId } = await paidFor(365, 4 * prices.name);
    await failOn(planId, daysOn(336));
    await fixture.core.transactions.run(
      async (tx) =>
        await fixture.core.plans.setTerms(tx, planId, {
          product: 'paid_ca',
          dnsNames: [...one, 'b.example.com'],
          keyType: 'ecdsa',
          csr: randomBytes(8),
          spkiSha256: randomBytes(32),
          approverEmails: {},
        }),
    );
    expect((await renewals.openDue(10, daysOn(340))).opened).toBe(1);
    expect((await replacementsOf(planId)).at(-1)?.expires_by).toEqual(daysOn(336 + 365));
    expect(await chargesOf(planId)).toBe(3);
    expect(await fixture.balanceOf(accountId)).toBeLessThan(2 * prices.name);
  });

  it.each([
    ['was revoked', 'revoked_at = now(), is_current = false'],
    ['expired', `not_before = now() - interval '1 day', not_after = now() - interval '1 minute'`],
  ])('is refunded when it fails and the certificate %s', async (_, assignments) => {
    const { accountId, planId } = await paidFor(365, 2 * prices.name);
    await failOn(planId, daysOn(336));
    await query(`UPDATE certificate SET ${assignments} WHERE plan_id = $1`, planId);
    await settle();
    expect(await fixture.balanceOf(accountId)).toBe(prices.name);
  });

  it('is not bought again while its key is blocked', async () => {
    const { accountId, planId } = await paidFor(365, 2 * prices.name);
    await query(
      `INSERT INTO blocked_key (spki_sha256, account_id, reason)
       SELECT spki_sha256, $2, 'spec' FROM terms WHERE plan_id = $1`,
      ...[planId, accountId],
    );
    for (let hours = 0; hours < 24; hours += 1)
      await failOn(planId, daysOn(336 + hours / 24), 'key_compromised');
    expect(await replacementsOf(planId)).toHaveLength(1);
    expect(await fixture.balanceOf(accountId)).toBe(prices.name);
    await query(`DELETE FROM blocked_key WHERE account_id = $1`, accountId);
    expect((await renewals.openDue(10, daysOn(337.1))).opened).toBe(1);
    expect(await fixture.balanceOf(accountId)).toBe(0);
  });

  it('is replaced without charge when its CA suggests a much earlier renewal', async () => {
    const { planId } = await paidFor(365);
    await query(
      `INSERT INTO certificate_authority (name, directory_url) VALUES ('ca', 'https://ca.example/') ON CONFLICT DO NOTHING`,
    );
    await query(
      `INSERT INTO renewal_info (certificate_id, authority, ari_id, window_start, window_end, due_at)
       SELECT id, 'ca', 'a.b', $2, $3, now() FROM certificate WHERE plan_id = $1`,
      planId,
      daysOn(99),
      daysOn(101),
    );
    await change(planId, `renew_at = '${daysOn(100).toISOString()}'`);
    expect((await renewals.openDue(10, daysOn(100))).opened).toBe(1);
    const { paid_through } = await planOf(planId);
    expect((await replacementsOf(planId))[0]?.expires_by).toEqual(paid_through);
    expect(await chargesOf(planId)).toBe(1);
  });
});

describe('a renewal that cannot be paid', () => {
  it('opens nothing, is checked again in an hour, and is reported once for each term', async () => {
    const { accountId, planId } = await paidFor(365);
    const before = await planOf(planId);
    for (let hours = 0; hours < 3; hours += 1) {
      const time = new Date(daysOn(336).getTime() + hours * hourMs);
      expect(await renewals.openDue(10, time)).toEqual({
        found: 1,
        opened: 0,
        unpaid: [
          {
            planId,
            accountId,
            problem: 'USD 10.00 is due, and USD 0.00 is available. Please add to the balance of the account.',
          },
        ],
      });
      expect(await renewals.openDue(10, time)).toMatchObject({ found: 0 });
      expect((await planOf(planId)).renew_at).toEqual(new Date(time.getTime() + hourMs));
    }
    expect(await replacementsOf(planId)).toEqual([]);
    expect((await planOf(planId)).paid_through).toEqual(before.paid_through);
    expect(await mailsOf(accountId)).toBe(1);
    const [mail] = await query(`SELECT recipient, facts FROM mail WHERE account_id = $1`, accountId);
    expect(mail).toEqual({ recipient: `${accountId}@example.com`, facts: { planId } });
  });

  it('is reported again when the mail was canceled, because an issuance was open when it was written', async () => {
    const { accountId } = await paidFor(365);
    await renewals.openDue(10, daysOn(336));
    await query(
      `UPDATE mail SET state = 'canceled', finished_at = clock_timestamp() WHERE account_id = $1`,
      accountId,
    );
    for (const hours of [1, 2]) await renewals.openDue(10, new Date(daysOn(336).getTime() + hours * hourMs));
    expect(await query(`SELECT state FROM mail WHERE account_id = $1 ORDER BY id`, accountId)).toEqual([
      { state: 'canceled' },
      { state: 'pending' },
    ]);
  });

  it('is bought as soon as the balance suffices, and the next term is reported again', async () => {
    const { accountId, planId } = await paidFor(365);
    await renewals.openDue(10, daysOn(336));
    await fixture.credit(accountId, prices.name);
    expect(await renewals.openDue(10, daysOn(336.1))).toMatchObject({ opened: 1, unpaid: [] });
    await attachOpen(fixture.core, planId, validity(336, 730, now));
    expect((await renewals.openDue(10, daysOn(705))).unpaid).toHaveLength(1);
    expect(await mailsOf(accountId)).toBe(2);
  });

  it('is retried every hour even after the certificate was reissued', async () => {
    const { planId, accountId } = await paidFor(365);
    expect((await renewals.openDue(10, daysOn(340))).unpaid).toHaveLength(1);
    await fixture.buy(planId, { kind: 'as_paid' });
    await attachOpen(fixture.core, planId, validity(341, 365, now));
    expect((await planOf(planId)).renew_at?.getTime()).toBeLessThanOrEqual(daysOn(341).getTime());
    const again = await renewals.openDue(10, daysOn(341));
    expect(again).toMatchObject({ found: 1, opened: 0, unpaid: [{ planId }] });
    expect((await planOf(planId)).renew_at).toEqual(new Date(daysOn(341).getTime() + hourMs));
    await fixture.credit(accountId, prices.name);
    expect(await renewals.openDue(10, new Date(daysOn(341).getTime() + hourMs))).toMatchObject({ opened: 1 });
  });

  it('does not stop other renewals', async () => {
    const poor = await paidFor(365);
    const rich = await paidFor(365, 2 * prices.name);
    const covered = await paidFor(340);
    expect(await renewals.openDue(10, daysOn(336))).toMatchObject({
      opened: 2,
      unpaid: [{ planId: poor.planId }],
    });
    for (const { planId } of [rich, covered]) expect(await replacementsOf(planId)).toHaveLength(1);
  });

  it('is not reported when there is no address', async () => {
    const { accountId } = await paidFor(365);
    await query(`UPDATE account SET contact_email = NULL WHERE id = $1`, accountId);
    expect((await renewals.openDue(10, daysOn(336))).unpaid).toHaveLength(1);
    expect(await mailsOf(accountId)).toBe(0);
  });
});

describe('a certificate that was issued elsewhere', () => {
  /** The plan's only certificate; its product has paid terms, and nothing is paid. */
  async function imported(cents: number, lasts: number): Promise<Paid> {
    const paid = await paidFor(lasts, prices.name + cents);
    await fixture.core.transactions.run(async (tx) => await fixture.purchases.endPaidTerm(tx, paid.planId));
    await query(
      `UPDATE certificate SET is_current = false, revoked_at = now() WHERE plan_id = $1`,
      paid.planId,
    );
    await query(
      `INSERT INTO certificate (id, account_id, plan_id, imported, is_current, dns_names, key_type, serial_number,
         not_before, not_after, sha256, spki_sha256, leaf, chain_sha256)
       SELECT $2, account_id, plan_id, true, true, dns_names, key_type, '01', not_before, not_after, $3, spki_sha256,
         leaf, chain_sha256 FROM certificate WHERE plan_id = $1`,
      ...[paid.planId, String(randomInt(1, 2 ** 47)), randomBytes(32)],
    );
    await change(paid.planId, `renew_at = now()`);
    return paid;
  }

  it('is replaced by buying a term when its time has come', async () => {
    const { planId } = await imported(prices.name, 90);
    expect((await renewals.openDue(10, daysOn(50))).opened).toBe(0);
    expect((await planOf(planId)).renew_at?.getTime()).toBeGreaterThanOrEqual(daysOn(60).getTime());
    expect((await renewals.openDue(10, daysOn(61))).opened).toBe(1);
    expect((await replacementsOf(planId))[0]?.expires_by).toEqual(daysOn(61 + 365));
  });

  it('is not bought without auto_renew', async () => {
    const { planId } = await imported(prices.name, 90);
    await change(planId, `auto_renew = false`);
    expect((await renewals.openDue(10, daysOn(61))).opened).toBe(0);
  });

  it('is replaced within the term when one was bought meanwhile', async () => {
    const { planId } = await imported(prices.name, 90);
    await fixture.buy(planId, { kind: 'term' });
    await query(
      `UPDATE issuance SET state = 'issued', closed_at = now() WHERE plan_id = $1 AND state = 'open'`,
      planId,
    );
    expect((await renewals.openDue(10, daysOn(61))).opened).toBe(1);
    expect((await replacementsOf(planId))[0]?.expires_by).toEqual((await planOf(planId)).paid_through);
    expect(await chargesOf(planId)).toBe(2);
  });
});

describe.each(['before', 'after'] as const)('the database connection fails %s a statement', (when) => {
  it.each([
    ['a renewal is still bought once', 2 * prices.name],
    ['one that cannot be paid is still reported once', prices.name],
  ])(
    'of a round: %s',
    async (_, cents) => {
      let nth = 1;
      for (; ; nth += 1) {
        const { accountId, planId } = await paidFor(365, cents);
        const failing = new FailingDatabase(fixture.core.database, nth, when);
        await renewalsOver(failing.source)
          .openDue(10, daysOn(336))
          .catch(() => undefined);
        for (let again = 0; again < 2; again += 1) {
          await change(planId, `renew_at = now()`);
          await renewals.openDue(10, daysOn(336.1));
        }
        const isBought = cents > prices.name;
        expect({
          nth,
          replacements: (await replacementsOf(planId)).length,
          mails: await mailsOf(accountId),
          balance: await fixture.balanceOf(accountId),
        }).toEqual({ nth, replacements: isBought ? 1 : 0, mails: isBought ? 0 : 1, balance: 0 });
        expect(await brokenRules(fixture.core.database)).toEqual([]);
        if (!failing.struck) break;
      }
      expect(nth).toBeGreaterThan(10);
    },
    120_000,
  );
});
