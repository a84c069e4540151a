import type { Delegations } from '@certwright/approvals';
import type { IdempotencyRecords } from '@certwright/idempotency';
import { type Certificates, Issuances, Purchases } from '@certwright/ordering';
import { Mails } from '@certwright/delivery';
import { Outbox, ProductEntity, Transactions } from '@certwright/core-schema';
import { UnusedCharges } from '../purchases/unused-charges';
import { Issuing } from '../testing/issuing';
import { openIssuance, opensslCsr } from '../testing/opened-issuance';
import { Housekeeping } from './housekeeping';

const dnsNames = ['a.example.com'];

let issuing: Issuing;
beforeAll(async () => {
  issuing = await Issuing.open();
}, 30_000);
afterAll(async () => await issuing.close());

it('refunds an issuance that ended without a certificate', async () => {
  const { database, asWorker, repositories } = issuing;
  await database.query(`UPDATE product SET term_days = 90, price_cents = 1000 WHERE name = 'free_ca'`);
  const product = await database.getRepository(ProductEntity).findOneByOrFail({ name: 'free_ca' });
  const { planId } = await openIssuance(repositories, dnsNames, opensslCsr(dnsNames));
  const [{ accountId, termsId }] = await database.query<[{ accountId: string; termsId: string }]>(
    `SELECT account_id AS "accountId", terms_id AS "termsId" FROM plan WHERE id = $1`,
    [planId],
  );
  await database.query(
    `INSERT INTO account_balance (account_id, currency, balance_cents) VALUES ($1, 'USD', 1500)`,
    [accountId],
  );
  const balance = async () => {
    const [row] = await database.query<[{ balance_cents: string }]>(
      `SELECT balance_cents FROM account_balance WHERE account_id = $1`,
      [accountId],
    );
    return Number(row.balance_cents);
  };
  const purchases = new Purchases(
    database,
    new Issuances(database, new Outbox(database)),
    new Mails(database),
  );
  const opening = { planId, accountId, termsId, revision: 2, dnsNames, settlingMs: 0, product };
  await repositories.transactions.run(async (tx) => await purchases.open(tx, opening, { kind: 'term' }));
  expect(await balance()).toBe(500);
  await database.query(`UPDATE issuance SET state = 'failed', closed_at = now() WHERE plan_id = $1`, [
    planId,
  ]);

  const unusedCharges = new UnusedCharges(asWorker, new Transactions(asWorker));
  const housekeeping = new Housekeeping(
    {} as Certificates,
    {} as Delegations,
    {} as IdempotencyRecords,
    unusedCharges,
    null,
  );
  expect(await housekeeping.unusedCharges()).toBeGreaterThan(0);
  expect(await balance()).toBe(1_500);
});
