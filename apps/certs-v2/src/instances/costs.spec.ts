import { RunningApi, type Tenant } from '../testing/running-api';
import { activatePending, createObject, pathOf } from './testing/bought';

jest.setTimeout(60_000);

const cn = 'www.example.com';
let api: RunningApi;
let tenant: Tenant;
beforeAll(async () => {
  api = await RunningApi.start();
  tenant = await api.tenant();
  await createObject(tenant, cn, {
    sans: [{ type: 'dns', value: 'shop.example.com', approval_method: 'dns' }],
  });
});
afterAll(() => api.stop());

/** BEGIN and COMMIT are no work. */
const workOf = async (work: () => Promise<unknown>) =>
  (await api.statementsOf(work)).filter((statement) => !/^(START TRANSACTION|COMMIT)/.test(statement));

it('a purchase takes at most 11 statements, its refusal 2', async () => {
  const bought = await workOf(() => tenant.post(`${pathOf(cn)}/buy`));
  expect(bought.length).toBeGreaterThan(5);
  expect(bought.length).toBeLessThanOrEqual(11);
  const refused = await workOf(() => tenant.post(`${pathOf(cn)}/buy`));
  expect(refused.filter((statement) => statement !== 'ROLLBACK').length).toBeLessThanOrEqual(2);
});

it('an instance needs at most 2 statements, a poll of a pending one 1', async () => {
  const { id } = (await tenant.get(`${pathOf(cn)}?expand=pending`)).json.pending;
  expect(await workOf(() => tenant.get(`${pathOf(cn)}/instances/${id}?poll=0`))).toHaveLength(1);
  expect(
    (await workOf(() => tenant.get(`${pathOf(cn)}/instances/${id}?expand=crt`))).length,
  ).toBeLessThanOrEqual(2);
});

it('a revocation takes a number of statements that grows with what is revoked by one each', async () => {
  const revoke = () => workOf(() => tenant.postForm(`${pathOf(cn)}/revoke`, {}));
  await activatePending(api, tenant, cn);
  const none = (await revoke()).length;
  for (let made = 0; made < 5; made += 1) {
    await tenant.post(`${pathOf(cn)}/reissue`);
    await activatePending(api, tenant, cn);
  }
  expect((await revoke()).length).toBe(none + 5);
});
