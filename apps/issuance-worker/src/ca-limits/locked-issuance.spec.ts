import { CoreDatabaseFixture } from '@certwright/core-testing';
import { caAccount } from '../testing/ca-accounts';
import { AcmeOrders } from '../certificate-authorities/acme/acme-orders';
import { CaLimitBuckets } from './ca-limit-buckets';

it('an order whose issuance is locked does not hold up orders of other accounts', async () => {
  const core = await CoreDatabaseFixture.open();
  const [busy, other] = ['1000000000001', '1000000000002'];
  for (const id of [busy, other]) await core.account(id);
  const caAccountId = await caAccount(core, 'public-ca');
  const orders = new AcmeOrders(core.database);
  const buckets = new CaLimitBuckets(core.database, core.transactions);
  const needs = [{ kind: 'newOrders' as const, key: '', limit: { count: 300, perS: 10_800 } }];
  const submit = async (accountId: string) => {
    const { planId, termsId } = await core.plan(accountId, ['a.example.com']);
    const opening = { planId, accountId, termsId, revision: 1, dnsNames: ['a.example.com'], settlingMs: 0 };
    const id = await core.transactions.run(async (tx) => await core.issuances.open(tx, opening));
    const work = await core.leased.lease(id, 60_000);
    if (work === null) throw new Error('leased');
    const wanted = { authority: 'public-ca', caAccountId, profile: null, replaces: null };
    return {
      id,
      order: async () =>
        await buckets.take(caAccountId, needs, accountId, [], async (tx) => {
          await orders.begin(work.lease, wanted, { approvals: [], keepForMs: 60_000 }, tx);
        }),
    };
  };
  const [one, two] = [await submit(busy), await submit(other)];
  const lockedMs = 3_000;
  // A transaction of a front end that is modifying the order, and is slow or frozen.
  const modifying = core.transactions.run(async (tx) => {
    await tx.query(`SELECT 1 FROM issuance WHERE id = $1 FOR UPDATE`, [one.id]);
    await new Promise((resolve) => setTimeout(resolve, lockedMs));
  });
  await new Promise((resolve) => setTimeout(resolve, 200));
  const first = one.order();
  await new Promise((resolve) => setTimeout(resolve, 200));
  const began = performance.now();
  await two.order();
  const waitedMs = performance.now() - began;
  await Promise.all([modifying, first]);
  await core.close();
  expect(waitedMs).toBeLessThan(lockedMs / 2);
}, 60_000);
