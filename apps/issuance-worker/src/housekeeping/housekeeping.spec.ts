import { randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Delegations } from '@certwright/approvals';
import type { IdempotencyRecords } from '@certwright/idempotency';
import { type Certificates, Issuances, Purchases } from '@certwright/ordering';
import { Mails } from '@certwright/delivery';
import { logIdentity } from '@certwright/pki';
import { Outbox, ProductEntity, Transactions } from '@certwright/core-schema';
import { UnusedCharges } from '../purchases/unused-charges';
import { Issuing } from '../testing/issuing';
import { openIssuance, opensslCsr } from '../testing/opened-issuance';
import { Housekeeping } from './housekeeping';
import { MissingTbsDigests } from './missing-tbs-digests';

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

it('computes the TBS digest of certificates of earlier releases, whatever bytes they have', async () => {
  const { database, asWorker, repositories } = issuing;
  const { planId } = await openIssuance(repositories, dnsNames, opensslCsr(dnsNames));
  const pem = readFileSync('libs/ct/src/testing/data/test-embedded-cert.pem');
  const leaves = [new X509Certificate(pem).raw, randomBytes(8)];
  const ids = await Promise.all(
    leaves.map(async (leaf) => {
      const [{ id }] = await database.query<[{ id: string }]>(
        `WITH chain AS (
           INSERT INTO certificate_chain (sha256, chain, root) VALUES ($2, '{}', '') RETURNING sha256)
         INSERT INTO certificate (id, account_id, plan_id, imported, is_current, dns_names, key_type, serial_number,
           not_before, not_after, sha256, spki_sha256, leaf, chain_sha256)
         SELECT random_id(), account_id, plan.id, true, false, $3, 'ecdsa', '01', now(), now() + interval '1 day', $2, $2,
           $4, chain.sha256
         FROM plan CROSS JOIN chain WHERE plan.id = $1 RETURNING id`,
        [planId, randomBytes(32), dnsNames, leaf],
      );
      return id;
    }),
  );
  const missing = new MissingTbsDigests(asWorker);
  expect(await missing.compute()).toBeGreaterThan(0);
  const digests = await Promise.all(
    ids.map(async (id) => {
      const [row] = await database.query<[{ digest: string; sctAt: Date | null }]>(
        `SELECT encode(tbs_sha256, 'hex') AS digest, sct_at AS "sctAt" FROM certificate WHERE id = $1`,
        [id],
      );
      return row;
    }),
  );
  // The second one is no DER: the digest of all bytes, as in the index.
  expect(digests).toEqual(leaves.map((leaf) => ({ digest: logIdentity(leaf).tbsSha256, sctAt: null })));
});
