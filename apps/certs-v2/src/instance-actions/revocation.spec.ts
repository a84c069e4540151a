import { attachImported } from '../testing/forged-instances';
import { RunningApi, type Tenant } from '../testing/running-api';
import {
  activatePending,
  createObject,
  csrFor,
  issuancesOf,
  keys,
  otherKeys,
  pathOf,
} from '../instances/testing/bought';
import { pubkeyHash } from '../testing/certificate-request';

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
const open = async (action: 'buy' | 'reissue'): Promise<number> => {
  const { status, json } = await tenant.post(`${pathOf(cn)}/${action}`);
  expect(status).toBe(200);
  return json.id;
};
/** @returns the ids of instances that were active one after the other, the current one last */
const activeOnes = async (count: number): Promise<number[]> => {
  const ids: number[] = [];
  for (let made = 0; made < count; made += 1) {
    ids.push(await open(made === 0 ? 'buy' : 'reissue'));
    await activatePending(api, tenant, cn);
  }
  return ids;
};
const revoke = async (all?: string) =>
  (await tenant.postForm(`${pathOf(cn)}/revoke`, all === undefined ? {} : { all })).json;
const states = async (): Promise<Record<number, string>> => {
  const { data } = (await tenant.get(`${pathOf(cn)}/instances`)).json;
  return Object.fromEntries(data.map(({ id, state }: { id: number; state: string }) => [id, state]));
};
const current = async (): Promise<number | null> =>
  (await tenant.get(`${pathOf(cn)}?expand=current`)).json.current?.id ?? null;
const confirmAll = async () =>
  await api.database.query(
    `UPDATE certificate SET ca_revoked_at = now() WHERE account_id = $1 AND revoked_at IS NOT NULL`,
    [tenant.accountId],
  );
const plan = async () => {
  const [row] = await api.database.query(
    `SELECT paid_through, paid_product, replacement_paid, renew_at, current_version FROM plan WHERE account_id = $1`,
    [tenant.accountId],
  );
  return row;
};
const ordered = async () =>
  await api.database.query(
    `SELECT DISTINCT certificate.revocation_reason AS reason, outbox.payload ->> 'certificateId' AS id
     FROM outbox JOIN certificate ON certificate.id::text = outbox.payload ->> 'certificateId'
     WHERE job = 'revoke-certificate' AND certificate.account_id = $1`,
    [tenant.accountId],
  );

describe('revoke', () => {
  it('revokes every instance but the active one, as superseded, and leaves what is pending', async () => {
    const [first = 0, second = 0, third = 0] = await activeOnes(3);
    const pending = await open('reissue');
    const version = (await plan())?.['current_version'];
    expect(await revoke()).toEqual({ status: 'pending', num_revoked: 2, num_active: 1, num_imported: 0 });
    expect(await states()).toEqual({
      [first]: 'revoked',
      [second]: 'revoked',
      [third]: 'active',
      [pending]: 'pending',
    });
    expect([await current(), (await plan())?.['current_version']]).toEqual([third, version]);
    expect((await plan())?.['paid_through']).toBeInstanceOf(Date);
    expect((await ordered()).map(({ reason }) => reason)).toEqual([4, 4]);
    expect(await issuancesOf(api, tenant)).toHaveLength(4);
  });

  it('counts what this call revoked, and reports when the CA has confirmed', async () => {
    await activeOnes(2);
    const result = { num_revoked: 0, num_active: 1, num_imported: 0 };
    expect(await revoke()).toEqual({ status: 'pending', ...result, num_revoked: 1 });
    const before = await api.database.query(`SELECT * FROM certificate WHERE account_id = $1 ORDER BY id`, [
      tenant.accountId,
    ]);
    expect(await revoke('0')).toEqual({ status: 'pending', ...result });
    expect(
      await api.database.query(`SELECT * FROM certificate WHERE account_id = $1 ORDER BY id`, [
        tenant.accountId,
      ]),
    ).toEqual(before);
    expect(await ordered()).toHaveLength(1);
    await confirmAll();
    expect(await revoke('false')).toEqual({ status: 'revoked', ...result });
  });

  it('revokes all with the active one on request; pending instances and the paid term end', async () => {
    const [first = 0, second = 0] = await activeOnes(2);
    await tenant.post(pathOf(cn), { auto_renew: true });
    const pending = await open('buy');
    expect(await revoke('true')).toEqual({
      status: 'pending',
      num_revoked: 2,
      num_active: 0,
      num_imported: 0,
    });
    expect(await states()).toEqual({ [first]: 'revoked', [second]: 'revoked', [pending]: 'canceled' });
    expect(await current()).toBeNull();
    expect(await plan()).toMatchObject({
      paid_through: null,
      paid_product: null,
      replacement_paid: false,
      renew_at: null,
    });
    expect((await ordered()).map(({ reason }) => reason)).toEqual([5, 5]);
    expect((await tenant.post(`${pathOf(cn)}/reissue`)).json.reason).toBe('inactive_cert');
    await confirmAll();
    expect(await revoke('1')).toEqual({ status: 'revoked', num_revoked: 0, num_active: 0, num_imported: 0 });
    // Nothing replaces them but a new purchase.
    expect((await issuancesOf(api, tenant)).filter(([, state]) => state === 'open')).toEqual([]);
    expect((await tenant.post(`${pathOf(cn)}/buy`)).status).toBe(200);
  });

  it('leaves imported instances, counts them, and one may become the active one', async () => {
    const [bought = 0] = await activeOnes(1);
    const { instanceId: imported } = await attachImported(api, tenant, cn, { isCurrent: false });
    expect(await revoke()).toEqual({ status: 'revoked', num_revoked: 0, num_active: 2, num_imported: 1 });
    expect(await revoke('1')).toEqual({ status: 'pending', num_revoked: 1, num_active: 1, num_imported: 1 });
    expect(await states()).toEqual({ [bought]: 'revoked', [imported]: 'active' });
    expect(await current()).toBe(imported);
    expect(await revoke()).toEqual({ status: 'pending', num_revoked: 0, num_active: 1, num_imported: 0 });
  });

  it('has nothing to do where there is nothing, and where everything has expired', async () => {
    const nothing = { status: 'revoked', num_revoked: 0, num_active: 0, num_imported: 0 };
    expect(await revoke('1')).toEqual(nothing);
    await open('buy');
    await activatePending(api, tenant, cn, { from: -9, to: -1 });
    expect(await revoke('1')).toEqual(nothing);
    expect(Object.values(await states())).toEqual(['expired']);
  });

  it('keeps the remaining one when the active one has just expired', async () => {
    const [first = 0] = await activeOnes(1);
    const second = await open('reissue');
    await activatePending(api, tenant, cn, { from: -9, to: -1 });
    expect(await revoke()).toEqual({ status: 'revoked', num_revoked: 0, num_active: 1, num_imported: 0 });
    expect(await states()).toEqual({ [first]: 'active', [second]: 'expired' });
    expect(await current()).toBe(first);
  });

  it('keeps the active one in its place although the object’s details would choose an older one', async () => {
    // Two for one key, then one for another: with the first key's CSR back on the object, either old one would be "the best".
    const [first = 0, second = 0] = await activeOnes(2);
    await tenant.post(pathOf(cn), { csr: csrFor(cn, otherKeys) });
    const third = await open('reissue');
    await activatePending(api, tenant, cn);
    const back = (await tenant.post(pathOf(cn), { csr: csrFor(cn, keys), auto_renew: true })).json;
    expect(back.pubkey_hash).toBe(pubkeyHash(keys));
    const version = (await plan())?.['current_version'];
    expect(await revoke()).toMatchObject({ num_revoked: 2, num_active: 1 });
    expect(await states()).toEqual({ [first]: 'revoked', [second]: 'revoked', [third]: 'active' });
    expect([await current(), (await plan())?.['current_version']]).toEqual([third, version]);
    expect(await issuancesOf(api, tenant)).toHaveLength(3);
  });

  it.each(['', 'yes', '2', 'TRUE'])('all=%p is refused, and nothing is revoked', async (all) => {
    const [only = 0] = await activeOnes(1);
    const { status, json } = await tenant.postForm(`${pathOf(cn)}/revoke`, { all });
    expect([status, json.reason, json.param]).toEqual([400, 'bad_param', 'all']);
    expect(await states()).toEqual({ [only]: 'active' });
  });

  it('gets the same response with an Idempotency-Key, and another body is refused', async () => {
    await activeOnes(2);
    const keyed = (all: string) =>
      tenant.postForm(`${pathOf(cn)}/revoke`, { all }, { 'idempotency-key': 'key' });
    const first = await keyed('1');
    expect([first.status, first.json.num_revoked]).toEqual([200, 2]);
    expect((await keyed('1')).text).toBe(first.text);
    expect((await keyed('0')).json.reason).toBe('idempotency_key_reused');
  });

  it('is one revocation when it races with itself and with reissues', async () => {
    for (let round = 0; round < 5; round += 1) {
      tenant = await api.tenant();
      await createObject(tenant, cn);
      await activeOnes(2);
      const responses = await Promise.all([
        tenant.post(`${pathOf(cn)}/reissue`),
        tenant.postForm(`${pathOf(cn)}/revoke`, { all: '1' }),
        tenant.post(`${pathOf(cn)}/reissue`),
        tenant.postForm(`${pathOf(cn)}/revoke`, { all: '1' }),
      ]);
      expect(responses.map(({ status }) => status).filter((status) => status >= 500)).toEqual([]);
      const opened = responses.filter(({ status, json }) => status === 200 && json.state === 'pending');
      const now = Object.values(await states()).sort();
      expect(now).toEqual([...Array(opened.length).fill('canceled'), 'revoked', 'revoked']);
      for (const { status, json } of responses.filter(({ status }) => status !== 200)) {
        expect([status, json.reason]).toEqual([409, expect.stringMatching(/inactive_cert|already_pending/)]);
      }
    }
  });
});
