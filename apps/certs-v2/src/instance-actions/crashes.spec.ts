import { eventually } from '@certwright/testing';
import { type ReceivedResponse, RunningApi, type Tenant } from '../testing/running-api';
import {
  activatePending,
  chargesOf,
  createObject,
  csrFor,
  issuancesOf,
  otherKeys,
  pathOf,
} from '../instances/testing/bought';
import { type Fault, withFault } from '../instances/testing/faulty-connection';

jest.setTimeout(120_000);

let api: RunningApi;
beforeAll(async () => {
  api = await RunningApi.start({ CERTWRIGHT_MODE: 'production' });
  await api.database.query(`UPDATE product SET price_cents = 1000 WHERE name = 'paid_ca'`);
});
afterAll(() => api.stop());

const cn = 'www.example.com';
const balance = 1_000_000;
/** A name and the same with www. are one. */
const price = 1_000;

async function tenantWithObject(): Promise<Tenant> {
  const tenant = await api.tenant();
  await api.database.query(
    `INSERT INTO account_balance (account_id, currency, balance_cents) VALUES ($1, 'USD', $2)`,
    [tenant.accountId, balance],
  );
  await createObject(tenant, cn);
  return tenant;
}

const balanceOf = async ({ accountId }: Tenant) => {
  const [row] = await api.database.query<{ balance: number; entries: number }>(
    `SELECT balance_cents::int AS balance, (SELECT count(*)::int FROM ledger_entry WHERE account_id = $1) AS entries
     FROM account_balance WHERE account_id = $1`,
    [accountId],
  );
  return row;
};

/**
 * Retries as a client does: until PostgreSQL has noticed that a connection is gone, its transaction holds the key, and
 * repeated requests fail.
 */
async function onceNotInUse<A extends ReceivedResponse>(send: () => Promise<A>): Promise<A> {
  return await eventually(async () => {
    const response = await send();
    if (response.json.reason === 'idempotency_key_in_use') throw new Error('the key is in use');
    return response;
  });
}

/** Every place where a crash can happen. @returns how many there are */
async function atEveryStatement(
  when: Fault['when'],
  work: (fault: Fault) => Promise<{ readonly reached: boolean }>,
): Promise<number> {
  for (let nth = 1; ; nth += 1) {
    if (!(await work({ nth, when })).reached) return nth - 1;
    if (nth > 100) throw new Error('there is no end of statements');
  }
}

describe.each(['before', 'after'] as const)('a purchase that is cut off %s any of its statements', (when) => {
  it('is one purchase when it is repeated with its key', async () => {
    const places = await atEveryStatement(when, async (fault) => {
      const tenant = await tenantWithObject();
      const buy = () => tenant.postForm(`${pathOf(cn)}/buy`, {}, { 'idempotency-key': 'k' });
      const { result, reached } = await withFault(fault, buy);
      if (reached)
        expect([result.status, result.json.retry_after ?? 5]).toEqual([result.json.id ? 200 : 503, 5]);
      const again = await onceNotInUse(buy);
      expect(again.status).toBe(200);
      expect(await issuancesOf(api, tenant)).toEqual([[again.json.id, 'open']]);
      expect(await chargesOf(api, tenant)).toEqual([
        { kind: 'term', cents: price, instance: String(again.json.id) },
      ]);
      expect(await balanceOf(tenant)).toEqual({ balance: balance - price, entries: 1 });
      return { reached };
    });
    expect(places).toBeGreaterThan(10);
  });

  it('is one purchase when it is repeated without one, which is refused if it is there already', async () => {
    const places = await atEveryStatement(when, async (fault) => {
      const tenant = await tenantWithObject();
      const buy = () => tenant.postForm(`${pathOf(cn)}/buy`, {});
      const { reached } = await withFault(fault, buy);
      const again = await buy();
      expect(again.status === 200 || again.json.reason === 'already_pending').toBe(true);
      expect((await issuancesOf(api, tenant)).map(([, state]) => state)).toEqual(['open']);
      expect(await chargesOf(api, tenant)).toHaveLength(1);
      expect(await balanceOf(tenant)).toEqual({ balance: balance - price, entries: 1 });
      return { reached };
    });
    expect(places).toBeGreaterThan(8);
  });

  it('leaves what was pending, or takes its place: never neither, never both', async () => {
    await atEveryStatement(when, async (fault) => {
      const tenant = await tenantWithObject();
      const first = (await tenant.post(`${pathOf(cn)}/buy`)).json;
      await tenant.post(pathOf(cn), { csr: csrFor(cn, otherKeys) });
      const { reached } = await withFault(fault, () => tenant.post(`${pathOf(cn)}/buy`));
      const states = (await issuancesOf(api, tenant)).map(([, state]) => state);
      expect([['open'], ['superseded', 'open']]).toContainEqual(states);
      expect(await chargesOf(api, tenant)).toHaveLength(1);
      expect((await balanceOf(tenant))?.balance).toBe(balance - price);
      expect((await tenant.get(`${pathOf(cn)}/instances/${first.id}`)).json.state).toBe(
        states.length === 1 ? 'pending' : 'canceled',
      );
      return { reached };
    });
  });
});

describe.each(['before', 'after'] as const)(
  'a revocation that is cut off %s any of its statements',
  (when) => {
    it('is complete or has no effect, and is complete when repeated', async () => {
      await atEveryStatement(when, async (fault) => {
        const tenant = await tenantWithObject();
        for (const action of ['buy', 'reissue']) {
          await tenant.post(`${pathOf(cn)}/${action}`);
          await activatePending(api, tenant, cn);
        }
        await tenant.post(pathOf(cn), { muted: true, sans: [] });
        await tenant.post(`${pathOf(cn)}/reissue`);
        const revoke = () => tenant.postForm(`${pathOf(cn)}/revoke`, { all: '1' });
        const { reached } = await withFault(fault, revoke);
        const states = async () =>
          (await tenant.get(`${pathOf(cn)}/instances`)).json.data.map(
            ({ state }: { state: string }) => state,
          );
        const before = await states();
        expect([
          ['pending', 'active', 'active'],
          ['canceled', 'revoked', 'revoked'],
        ]).toContainEqual(before);
        expect((await revoke()).json).toEqual({
          status: 'pending',
          num_revoked: before[0] === 'pending' ? 2 : 0,
          num_active: 0,
          num_imported: 0,
        });
        expect(await states()).toEqual(['canceled', 'revoked', 'revoked']);
        const jobs = await api.database.query(
          `SELECT DISTINCT payload FROM outbox WHERE job = 'revoke-certificate' AND payload ->> 'certificateId' IN (
           SELECT id::text FROM certificate WHERE account_id = $1)`,
          [tenant.accountId],
        );
        expect(jobs).toHaveLength(2);
        return { reached };
      });
    });
  },
);
