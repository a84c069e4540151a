import { randomBytes } from 'node:crypto';
import { attachedCertificate, attachOpen, validity } from '@certwright/core-testing';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { type RevocationReason, revocationReasons } from '@certwright/issuance';
import { Certificates, Revocations } from '@certwright/ordering';
import type { Renewals } from './renewals.repository';
import { renewalsOver } from './testing/stored-renewals';

const accountId = '1000000000001';
const dayMs = 86_400_000;
const now = new Date();

let core: CoreDatabaseFixture;
let renewals: Renewals;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  await core.account(accountId);
  renewals = renewalsOver(core.database);
});
afterAll(async () => await core.close());
// Work left open by one test must not affect the next one.
afterEach(async () => await core.database.query(`UPDATE plan SET closed_at = now() WHERE closed_at IS NULL`));

const daysOn = (days: number) => new Date(now.getTime() + days * dayMs);
const dueSoon = async () => await attachedCertificate(core, accountId, validity(-1, 89, now));

interface Replacement {
  readonly id: string;
  readonly state: string;
  readonly terms_id: string;
  readonly replaces: string | null;
}
const issuancesOf = async (planId: string): Promise<readonly Replacement[]> =>
  await core.database.query(
    `SELECT id, state, terms_id, replaces_certificate_id AS replaces FROM issuance WHERE plan_id = $1 ORDER BY id`,
    [planId],
  );
const replacementsOf = async (planId: string) =>
  (await issuancesOf(planId)).filter(({ replaces }) => replaces !== null);
const renewAtOf = async (planId: string) => {
  const rows: { renew_at: Date | null }[] = await core.database.query(
    `SELECT renew_at FROM plan WHERE id = $1`,
    [planId],
  );
  return rows[0]?.renew_at ?? null;
};
const change = async (planId: string, assignments: string) =>
  await core.database.query(`UPDATE plan SET ${assignments} WHERE id = $1`, [planId]);
/** Makes the plan's certificate that is not the given one the current one, as when that was revoked or has expired. */
async function makeOtherCurrent(planId: string, certificateId: string): Promise<void> {
  await core.database.query(`UPDATE certificate SET is_current = false WHERE id = $1`, [certificateId]);
  await core.database.query(`UPDATE certificate SET is_current = true WHERE plan_id = $1 AND id <> $2`, [
    planId,
    certificateId,
  ]);
}
const endReplacement = async (planId: string, state: 'failed' | 'canceled', at: Date, error: string | null) =>
  await core.database.query(
    `UPDATE issuance SET state = $2, closed_at = $3, last_error = $4 WHERE plan_id = $1 AND state = 'open'`,
    [planId, state, at, error],
  );

it('counts certificates that expire soon although they are renewed automatically', async () => {
  await attachedCertificate(core, accountId, validity(-89, 1, now));
  await attachedCertificate(core, accountId, validity(-5, 0.9, now));
  // Not yet; not any more; and none of our business.
  await attachedCertificate(core, accountId, validity(-3, 3, now));
  await attachedCertificate(core, accountId, validity(-91, -1, now));
  const paused = await attachedCertificate(core, accountId, validity(-89, 1, now));
  await change(paused.planId, 'paused = true');
  const ended = await attachedCertificate(core, accountId, validity(-89, 1, now));
  await change(ended.planId, 'auto_renew = false');
  expect(await renewals.expiring()).toBe(2);
});

it('counts those that a paid term still replaces, also without automatic renewal', async () => {
  const { planId } = await attachedCertificate(core, accountId, validity(-89, 1, now));
  await change(planId, 'auto_renew = false, replacement_paid = true');
  expect(await renewals.expiring()).toBe(1);
});

it('counts those of a disabled account, except for those that need a purchase', async () => {
  const disabled = await core.account('1000000000077');
  await attachedCertificate(core, disabled, validity(-89, 1, now));
  const unpaid = await attachedCertificate(core, disabled, validity(-89, 1, now));
  await core.transactions.run(
    async (tx) =>
      await core.plans.setTerms(tx, unpaid.planId, {
        product: 'paid_ca',
        dnsNames: ['a.example.com'],
        keyType: 'ecdsa',
        csr: randomBytes(8),
        spkiSha256: randomBytes(32),
        approverEmails: {},
        approvalWays: null,
      }),
  );
  await core.database.query(`UPDATE account SET disabled_at = now() WHERE id = $1`, [disabled]);
  expect(await renewals.expiring()).toBe(1);
  await change(unpaid.planId, 'replacement_paid = true');
  expect(await renewals.expiring()).toBe(2);
});

describe('the time of the renewal', () => {
  it('is set when a certificate becomes the current one', async () => {
    const { planId } = await dueSoon();
    const renewAt = await renewAtOf(planId);
    // A third of 90 days is left, and up to 3 % of 90 days more.
    expect(renewAt?.getTime()).toBeLessThanOrEqual(daysOn(59).getTime());
    expect(renewAt?.getTime()).toBeGreaterThan(daysOn(59 - 2.7).getTime());
  });

  it('follows the current certificate, and is removed with the last one', async () => {
    const { planId } = await dueSoon();
    const before = await renewAtOf(planId);
    await renewals.openDue(10, daysOn(60));
    await attachOpen(core, planId, validity(59, 149, now));
    expect((await renewAtOf(planId))?.getTime()).toBeGreaterThan((before?.getTime() ?? 0) + 50 * dayMs);
  });
});

describe('a renewal', () => {
  it('opens an issuance of the present terms that is due at once, once the time has come', async () => {
    const { planId, certificateId } = await dueSoon();
    expect(await renewals.openDue(10, daysOn(50))).toEqual({ found: 0, opened: 0, unpaid: [] });
    expect(await renewals.openDue(10, daysOn(59))).toEqual({ found: 1, opened: 1, unpaid: [] });
    const [first, second, ...more] = await issuancesOf(planId);
    expect(more).toEqual([]);
    expect(second).toMatchObject({ state: 'open', replaces: certificateId, terms_id: first?.terms_id });
    expect((await core.leased.due(1_000)).map(({ id }) => id)).toContain(second?.id);
  });

  it.each([
    ['auto_renew is false', 'auto_renew = false'],
    ['the plan is paused', 'paused = true'],
    ['the plan is closed', 'closed_at = now()'],
    ['the CSR is missing', 'terms_id = NULL'],
  ])('does not start while %s', async (_, assignments) => {
    const { planId } = await dueSoon();
    await change(planId, assignments);
    expect((await renewals.openDue(10, daysOn(60))).opened).toBe(0);
  });

  it('does not start beside an open issuance, and starts when that has failed', async () => {
    const { planId } = await dueSoon();
    const [{ terms_id: termsId }] = (await issuancesOf(planId)) as [Replacement];
    const opening = {
      planId,
      accountId,
      termsId,
      revision: 2,
      dnsNames: ['a.example.com'],
      settlingMs: 10_000,
    };
    await core.transactions.run(async (tx) => await core.issuances.open(tx, opening));
    expect((await renewals.openDue(10, daysOn(60))).opened).toBe(0);
    await endReplacement(planId, 'failed', now, '{}');
    expect((await renewals.openDue(10, daysOn(60.05))).opened).toBe(1);
  });

  it('replaces each certificate once, with any number of repetitions and workers', async () => {
    const plans = await Promise.all(Array.from({ length: 20 }, dueSoon));
    await Promise.all(Array.from({ length: 6 }, async () => await renewals.openDue(7, daysOn(60))));
    await Promise.all(Array.from({ length: 6 }, async () => await renewals.openDue(7, daysOn(60))));
    for (const { planId } of plans) expect(await replacementsOf(planId)).toHaveLength(1);
  });

  it('does not replace a certificate again whose replacement was issued and is no longer the current one', async () => {
    const { planId } = await dueSoon();
    await renewals.openDue(10, daysOn(60));
    const next = await attachOpen(core, planId, validity(59, 149, now));
    await makeOtherCurrent(planId, next.certificateId);
    await change(planId, `renew_at = now()`);
    expect((await renewals.openDue(10, daysOn(60))).opened).toBe(0);
    expect(await renewAtOf(planId)).toBeNull();
  });
});

describe('a certificate whose replacement was revoked', () => {
  const revoke = async (planId: string, certificateId: string, reason: RevocationReason) =>
    await core.transactions.run(
      async (tx) =>
        await new Revocations().request(tx, { planId, certificateId, reason, requestedBy: 'subscriber' }),
    );
  const { superseded, cessationOfOperation } = revocationReasons;

  /** With a third of its lifetime left, and its replacement. */
  async function renewed() {
    const first = await attachedCertificate(core, accountId, validity(-61, 29, now));
    await renewals.openDue(10, daysOn(0.01));
    return { ...first, next: await attachOpen(core, first.planId, validity(-0.01, 89, now)) };
  }

  it('is replaced again when the replacement of the revoked one failed permanently', async () => {
    const { planId, next } = await renewed();
    await revoke(planId, next.certificateId, superseded);
    expect((await renewals.openDue(10, daysOn(0.01))).opened).toBe(0);
    await endReplacement(planId, 'failed', now, '{}');
    const [again, onceMore] = [daysOn(0.1), daysOn(0.2)];
    expect((await renewals.openDue(10, again)).opened).toBe(1);
    expect((await renewals.openDue(10, onceMore)).opened).toBe(0);
    const replaced = (await replacementsOf(planId)).map(({ state, replaces }) => ({ state, replaces }));
    expect(replaced.slice(1)).toEqual([
      { state: 'failed', replaces: next.certificateId },
      { state: 'open', replaces: next.certificateId },
    ]);
  });

  it('is replaced again after several of them were revoked', async () => {
    const { planId, next } = await renewed();
    await revoke(planId, next.certificateId, superseded);
    const second = await attachOpen(core, planId, validity(0, 90, now));
    await revoke(planId, second.certificateId, superseded);
    await endReplacement(planId, 'failed', now, '{}');
    expect((await renewals.openDue(10, daysOn(0.1))).opened).toBe(1);
    expect((await replacementsOf(planId)).at(-1)).toMatchObject({
      state: 'open',
      replaces: second.certificateId,
    });
  });

  it('is not replaced when the replacement was revoked because it is no longer needed', async () => {
    const { planId, next } = await renewed();
    await revoke(planId, next.certificateId, cessationOfOperation);
    expect((await renewals.openDue(10, daysOn(0.1))).opened).toBe(0);
    expect(await renewAtOf(planId)).toBeNull();
  });
});

describe('a certificate that outlives its replacement', () => {
  it('is replaced again after the replacement has expired', async () => {
    const { planId } = await dueSoon();
    await renewals.openDue(10, daysOn(60));
    const next = await attachOpen(core, planId, validity(59, 79, now));
    await makeOtherCurrent(planId, next.certificateId);
    await change(planId, `renew_at = now()`);
    expect((await renewals.openDue(10, daysOn(80))).opened).toBe(1);
    expect((await renewals.openDue(10, daysOn(80.1))).opened).toBe(0);
    expect((await replacementsOf(planId)).at(-1)).toMatchObject({
      state: 'open',
      replaces: next.certificateId,
    });
  });
});

describe('a certificate that expired without a successor', () => {
  /** As after an outage. */
  const expired = async (daysAgo: number) => {
    const attached = await attachedCertificate(core, accountId, validity(-1, 89, now));
    await core.database.query(
      `UPDATE certificate SET not_before = now() - make_interval(days => $2 + 90), not_after = now() - make_interval(days => $2, secs => 1)
       WHERE id = $1`,
      [attached.certificateId, daysAgo],
    );
    return attached;
  };
  const reselect = async () => await new Certificates(core.database, core.transactions).reselectExpired(10);

  it.each(['before', 'after'])(
    'is replaced once, also when renewals are due %s it is noticed',
    async (order) => {
      const { planId, certificateId } = await expired(3);
      await change(planId, `renew_at = now()`);
      if (order === 'before') expect((await renewals.openDue(10)).opened).toBe(0);
      await reselect();
      expect((await renewals.openDue(10)).opened).toBe(1);
      expect((await renewals.openDue(10, daysOn(0.1))).opened).toBe(0);
      expect(await replacementsOf(planId)).toMatchObject([{ state: 'open', replaces: certificateId }]);
      const next = await attachOpen(core, planId, validity(0, 90, now));
      expect((await renewals.openDue(10, daysOn(0.2))).opened).toBe(0);
      expect(await renewAtOf(planId)).toBeInstanceOf(Date);
      // No longer needed: then the certificate before it is not replaced again.
      await core.database.query(
        `UPDATE certificate SET is_current = false, revoked_at = now(), revocation_reason = $2 WHERE id = $1`,
        [next.certificateId, revocationReasons.cessationOfOperation],
      );
      await change(planId, `renew_at = now()`);
      expect((await renewals.openDue(10, daysOn(0.3))).opened).toBe(0);
      expect(await renewAtOf(planId)).toBeNull();
    },
  );

  it('is also replaced when something else looks for the best certificate first', async () => {
    const { planId } = await expired(3);
    await core.transactions.run(async (tx) => {
      await tx.query(`SELECT FROM plan WHERE id = $1 FOR UPDATE`, [planId]);
      const wanted = { dnsNames: ['a.example.com'], spkiSha256: null };
      await new Certificates(core.database, core.transactions).reselectCurrent(tx, planId, wanted);
    });
    expect((await renewals.openDue(10)).opened).toBe(1);
  });

  it('is tried again every day, for 30 days', async () => {
    const { planId } = await expired(3);
    await reselect();
    for (let attempt = 0; attempt < 5; attempt += 1) {
      await renewals.openDue(10, daysOn(attempt * 2 + 1));
      await endReplacement(planId, 'failed', daysOn(attempt * 2 + 1), '{}');
      await change(planId, `renew_at = now()`);
    }
    expect(await replacementsOf(planId)).toHaveLength(5);
    expect((await renewals.openDue(10, daysOn(9.5))).opened).toBe(0);
    expect(await renewAtOf(planId)).toEqual(daysOn(10));
    expect((await renewals.openDue(10, daysOn(27.1))).opened).toBe(0);
    expect(await renewAtOf(planId)).toBeNull();
  });

  it('is not replaced after 30 days, without auto_renew, and when it was revoked', async () => {
    const [old, manual, revoked] = [await expired(30), await expired(3), await expired(3)];
    await change(manual.planId, `auto_renew = false`);
    await core.database.query(`UPDATE certificate SET revoked_at = now() - interval '4 days' WHERE id = $1`, [
      revoked.certificateId,
    ]);
    await reselect();
    expect((await renewals.openDue(10)).opened).toBe(0);
    for (const { planId } of [old, revoked]) expect(await renewAtOf(planId)).toBeNull();
  });
});

describe('a replacement that failed permanently', () => {
  it('is tried again with back-off, which is stored on the plan, while the certificate is valid', async () => {
    const { planId, certificateId } = await dueSoon();
    const minute = 60_000;
    let time = daysOn(60);
    for (const waitMs of [minute, 10 * minute, 100 * minute, 1_440 * minute]) {
      expect((await renewals.openDue(10, time)).opened).toBe(1);
      await endReplacement(planId, 'failed', time, '{}');
      const lookedAt = new Date(time.getTime() + minute - 1);
      await change(planId, `renew_at = '${lookedAt.toISOString()}'`);
      expect((await renewals.openDue(10, lookedAt)).opened).toBe(0);
      expect(await renewAtOf(planId)).toEqual(new Date(time.getTime() + waitMs));
      time = new Date(time.getTime() + waitMs);
    }
    expect((await replacementsOf(planId)).map(({ replaces }) => replaces)).toEqual(
      Array.from({ length: 4 }, () => certificateId),
    );
    expect((await renewals.openDue(10, daysOn(90))).opened).toBe(0);
    expect(await renewAtOf(planId)).toBeNull();
  });

  it('does not delay other plans', async () => {
    const failing = await dueSoon();
    await renewals.openDue(10, daysOn(60));
    await endReplacement(failing.planId, 'failed', daysOn(60), '{}');
    const other = await dueSoon();
    await renewals.openDue(1, daysOn(60.01));
    await renewals.openDue(1, daysOn(60.01));
    expect(await replacementsOf(other.planId)).toHaveLength(1);
  });

  it('is not counted as failed when a pause ended it', async () => {
    const { planId } = await dueSoon();
    await renewals.openDue(10, daysOn(60));
    await endReplacement(planId, 'canceled', daysOn(60), null);
    expect((await renewals.openDue(10, daysOn(60.001))).opened).toBe(1);
  });
});

describe('auto_renew set to true and at once back to false', () => {
  it('issues exactly one certificate, even with the renewal due and rounds in between', async () => {
    const { planId } = await dueSoon();
    const [{ terms_id: termsId }] = (await issuancesOf(planId)) as [Replacement];
    await change(planId, `auto_renew = false`);
    const modify = async (autoRenew: boolean) =>
      await core.transactions.run(async (tx) => {
        await tx.query(`SELECT 1 FROM plan WHERE id = $1 FOR UPDATE`, [planId]);
        const revision = await core.plans.modify(tx, planId, { autoRenew, muted: false, paused: false });
        const dnsNames = ['a.example.com'];
        await core.issuances.open(tx, { planId, accountId, termsId, revision, dnsNames, settlingMs: 10_000 });
      });
    const round = async () => await renewals.openDue(10, daysOn(60));
    await round();
    await modify(true);
    await Promise.all([round(), modify(false), round()]);
    await round();
    await attachOpen(core, planId, validity(59, 149, now));
    await round();
    const states = (await issuancesOf(planId)).map(({ state }) => state);
    expect(states).toEqual(['issued', 'superseded', 'issued']);
  });
});

describe('a long backlog of one account', () => {
  it('leaves its share of a round to every other account', async () => {
    const others = ['1000000000002', '1000000000003'];
    for (const id of others) await core.account(id);
    await Promise.all(Array.from({ length: 40 }, dueSoon));
    const plans = [];
    for (const id of others) plans.push(await attachedCertificate(core, id, validity(0, 90, now)));
    expect((await renewals.openDue(10, daysOn(62))).opened).toBe(10);
    for (const { planId } of plans) expect(await replacementsOf(planId)).toHaveLength(1);
  });
});
