import { randomBytes } from 'node:crypto';
import { PurchaseFixture } from '@certwright/core-testing';
import { attachOpen, validity } from '@certwright/core-testing';

let fixture: PurchaseFixture;
beforeAll(async () => {
  fixture = await PurchaseFixture.open();
}, 30_000);
afterAll(async () => await fixture.core.close());

/** Includes all later migrations. */
const isThere = async (): Promise<boolean> =>
  (await fixture.count(`FROM core_migration WHERE name = 'Purchases1795478400000'`)) > 0;

describe('the migration that adds purchases', () => {
  it('is reverted and run again with purchases and imports; plans left without an owner are not renewed', async () => {
    const { database } = fixture.core;
    const accountId = await fixture.account(10_000);
    const ordered = await fixture.plan(accountId, ['b.example.com']);
    const planId = await fixture.plan(accountId, ['a.example.com'], 'paid_ev_ca');
    await fixture.buy(planId, { kind: 'term' });
    const { certificateId } = await attachOpen(fixture.core, planId, validity(0, 90));
    await database.query(`UPDATE plan SET owner = 'certs-v2' WHERE id = $1`, [planId]);
    // A certificate issued for one plan is imported to another, and its owner was notified of its end.
    await database.query(
      `WITH imported AS (
         INSERT INTO certificate (id, account_id, plan_id, imported, is_current, dns_names, key_type, serial_number,
           not_before, not_after, sha256, spki_sha256, leaf, chain_sha256)
         SELECT random_id(), account_id, $2, true, true, dns_names, key_type, '01', not_before, not_after, sha256, $3,
           leaf, chain_sha256 FROM certificate WHERE id = $1 RETURNING id)
       INSERT INTO expiration_notice (certificate_id, threshold_days) SELECT id, 7 FROM imported`,
      [certificateId, ordered, randomBytes(32)],
    );
    while (await isThere()) await database.undoLastMigration();
    const plans: object[] = await database.query(
      `SELECT id, closed_at IS NULL AS open FROM plan ORDER BY id = $1`,
      [planId],
    );
    expect(plans).toEqual([
      { id: ordered, open: true },
      { id: planId, open: false },
    ]);
    expect(await fixture.count(`FROM certificate`)).toBe(1);
    await database.runMigrations();
    expect(await fixture.product('paid_ev_ca')).toMatchObject({ termDays: 365 });
  });
});
