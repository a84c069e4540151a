import { attachCertificate, attachImported } from '../testing/forged-instances';
import { RunningApi, type Tenant } from '../testing/running-api';
import { createObject, pathOf } from '../instances/testing/bought';

// A machine that is busy with other specs must not fail these.
jest.setTimeout(60_000);

let api: RunningApi;
let tenant: Tenant;
beforeAll(async () => {
  api = await RunningApi.start();
});
beforeEach(async () => {
  tenant = await api.tenant();
  await createObject(tenant, cn);
});
afterAll(() => api.stop());

const cn = 'www.example.com';
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);
const paidFor = async (days: number, product = 'paid_ca') =>
  await api.database.query(
    `UPDATE plan SET paid_through = $2, paid_product = $3, paid_names = 1 WHERE account_id = $1`,
    [tenant.accountId, inDays(days), product],
  );
const isEnding = async (): Promise<unknown> => (await tenant.get(pathOf(cn))).json.subscription_ending;

/** Existing clients buy where `subscription_ending` is true, and reissue where it is false. */
describe('subscription_ending', () => {
  it('is true for an object that was never bought', async () => {
    expect(await isEnding()).toBe(true);
  });

  it.each([
    ['a replacement can outlast the active instance', 200, 60, false],
    ['the active instance lasts as long as the term', 200, 200, true],
    ['the active instance ends within a day of the term', 200, 199.1, true],
    ['the term is in its last 30 days', 29, 10, true],
    ['the term has more than 30 days left', 31, 10, false],
  ])('when %s', async (_what, paidDays, activeDays, expected) => {
    await attachCertificate(api, tenant, cn, { notAfter: inDays(activeDays) });
    await paidFor(paidDays);
    expect(await isEnding()).toBe(expected);
  });

  it('is true when the term is over', async () => {
    await attachCertificate(api, tenant, cn, { notAfter: inDays(10) });
    await paidFor(-1);
    expect(await isEnding()).toBe(true);
  });

  it('is true when no instance is active, since only a purchase can be issued then', async () => {
    await paidFor(200);
    expect(await isEnding()).toBe(true);
    await attachCertificate(api, tenant, cn, { notBefore: inDays(-90), notAfter: inDays(-1) });
    expect(await isEnding()).toBe(true);
    await attachCertificate(api, tenant, cn, { notAfter: inDays(60), revokedAt: new Date() });
    expect(await isEnding()).toBe(true);
  });

  it('is true when the term was bought for another type', async () => {
    await attachCertificate(api, tenant, cn, { notAfter: inDays(60) });
    await paidFor(200, 'paid_ev_ca');
    expect(await isEnding()).toBe(true);
  });

  it('does not depend on automatic renewal, and an imported instance counts as active', async () => {
    await attachImported(api, tenant, cn, { notAfter: inDays(60) });
    await paidFor(200);
    for (const auto_renew of [false, true]) {
      const { json } = await tenant.post(pathOf(cn), { auto_renew });
      expect([json.auto_renew, json.subscription_ending]).toEqual([auto_renew, false]);
    }
    expect((await tenant.get('/api/v2/certs')).json.data).toMatchObject([{ subscription_ending: false }]);
  });

  it.each([[true], [false]])(
    'lets a renewal succeed at the end of a term with auto_renew %j',
    async (auto_renew) => {
      await tenant.post(pathOf(cn), { auto_renew });
      await attachCertificate(api, tenant, cn, { notAfter: inDays(1) });
      await paidFor(1);
      const action = (await isEnding()) === true ? 'buy' : 'reissue';
      expect((await tenant.post(`${pathOf(cn)}/${action}`)).status).toBe(200);
      const { billed_through } = (await tenant.get(pathOf(cn))).json;
      expect(billed_through * 1_000).toBeGreaterThan(inDays(365).getTime());
    },
  );
});
