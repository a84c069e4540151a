import { certificateRequest, keyPair } from './testing/certificate-request';
import { attachCertificate, openIssuance } from './testing/forged-instances';
import { RunningApi, type Tenant } from './testing/running-api';

const keys = keyPair('p256');
const body = (cn: string) => ({ csr: certificateRequest(keys, { CN: cn }), approval_method: 'dns' });
const at = (cn: string) => `/api/v2/certs/${cn}`;
/** What the existing command-line client requests before it buys. */
const expansion = '?expand=current&expand=pending&expand=csr';

// A machine that is busy with other specs must not fail these.
jest.setTimeout(30_000);

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start();
  tenant = await api.tenant();
  await tenant.post(at('warm.example.com'), body('warm.example.com'));
});
afterAll(() => api.stop());

/** BEGIN and COMMIT are no work. */
const workOf = async (work: () => Promise<unknown>) =>
  (await api.statementsOf(work)).filter((statement) => !/^(START TRANSACTION|COMMIT)/.test(statement));

it('creates an object with at most 9 statements, and changes a tag with at most 5', async () => {
  const made = await workOf(() => tenant.post(at('new.example.com'), body('new.example.com')));
  expect(made.length).toBeGreaterThan(3);
  expect(made.length).toBeLessThanOrEqual(9);
  const tagged = await workOf(() => tenant.postForm(at('new.example.com'), { 'tags.x': '1' }));
  expect(tagged.length).toBeLessThanOrEqual(5);
});

it('retrieves an object with one statement, and with two for what a client shows', async () => {
  expect(await workOf(() => tenant.get(at('warm.example.com')))).toHaveLength(1);
  expect(await workOf(() => tenant.get(at('missing.example.com')))).toHaveLength(1);
  expect(await workOf(() => tenant.get(`${at('warm.example.com')}${expansion}`))).toHaveLength(2);
});

it('lists objects with a number of statements that does not grow with theirs', async () => {
  const query = `${expansion}&expand=dns_approval.status&expand=current.chain`;
  const list = () => tenant.get(`/api/v2/certs${query}`);
  const add = async (count: number) => {
    const cn = `n${count}.example.com`;
    await tenant.post(at(cn), body(cn));
    await attachCertificate(api, tenant, cn);
    await openIssuance(api, tenant, cn);
  };
  await add(0);
  const few = await workOf(list);
  for (let count = 1; count <= 10; count += 1) await add(count);
  expect(await workOf(list)).toEqual(few);
  expect(few.length).toBeLessThanOrEqual(7);
});
