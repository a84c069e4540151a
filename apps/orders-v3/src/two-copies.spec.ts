import { countWrongKeysTogether, startTwoCopies, Tenant } from '@certwright/core-testing';
import { certificateRequest, keyPair } from './testing/certificate-request';
import { attachCertificate, RunningApi } from './testing/running-api';

const keys = keyPair('p256');
const csr = certificateRequest(keys, { dnsNames: ['example.com'] });
const order = (name: string) => ({ name, dns_names: ['example.com'], csr });

let one: RunningApi;
let other: RunningApi;
beforeAll(async () => void ([one, other] = await startTwoCopies('orders-v3', RunningApi.start)));
afterAll(async () => {
  await other.stop();
  await one.stop();
});

/** The same account at both copies. */
async function atBoth(): Promise<[Tenant, Tenant]> {
  const tenant = await one.tenant();
  return [tenant, new Tenant(other, tenant.accountId, tenant.apiKey)];
}

it('create one order when both are requested to create it at the same time, and both show it', async () => {
  const [here, there] = await atBoth();
  const responses = await Promise.all(
    [here, there, here, there].map(async (tenant) => await tenant.post('/api/v3/orders', order('same'))),
  );
  expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
  const rows = await one.database.query(
    `SELECT (SELECT count(*)::int FROM order_v3 WHERE account_id = $1) AS orders,
       (SELECT count(*)::int FROM issuance WHERE account_id = $1) AS issuances`,
    [here.accountId],
  );
  expect(rows).toEqual([{ orders: 1, issuances: 1 }]);
  expect((await there.get('/api/v3/orders/same')).json).toEqual((await here.get('/api/v3/orders/same')).json);
});

it('return the same response to an Idempotency-Key, whichever of them has executed the request', async () => {
  const [here, there] = await atBoth();
  await here.post('/api/v3/orders', order('mine'));
  const certificate = { dnsNames: ['example.com'], pubkeySha256: 'ab'.repeat(32) };
  const id = await attachCertificate(one, here, 'mine', certificate);
  const revoke = async (tenant: Tenant, reason: number) =>
    await tenant.post(`/api/v3/orders/mine/certs/${id}/revoke`, { reason }, { 'idempotency-key': 'k' });
  const first = await revoke(here, 4);
  const again = await revoke(there, 4);
  expect([again.status, again.text, again.headers['idempotency-replayed']]).toEqual([
    first.status,
    first.text,
    'true',
  ]);
  expect((await revoke(there, 1)).json.code).toBe('idempotency_key_reused');
});

it('count wrong keys of an address together', async () => {
  const { accountId } = await one.tenant();
  await countWrongKeysTogether([one, other], accountId, '/api/v3/orders');
});
