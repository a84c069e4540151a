import { RunningApi, type Tenant } from '../testing/running-api';
import { activatePending, createObject, csrFor, otherKeys, pathOf } from '../instances/testing/bought';
import { openIssuance } from '../testing/forged-instances';

jest.setTimeout(60_000);

let api: RunningApi;
let tenant: Tenant;
beforeAll(async () => {
  api = await RunningApi.start();
});
beforeEach(async () => {
  tenant = await api.tenant();
});
afterAll(() => api.stop());

const cn = 'www.example.com';
const redo = () => tenant.post(`${pathOf(cn)}/redo_approval`);
const rowOf = async (id: number) => {
  const [row] = await api.database.query(
    `SELECT lease_token::int, due_at <= clock_timestamp() AS due, issuance.terms_id, plan.terms_id AS plan_terms_id
     FROM issuance JOIN plan ON plan.id = plan_id WHERE public_id = $1`,
    [id],
  );
  return row;
};

describe('redo_approval', () => {
  it('needs a pending instance', async () => {
    await createObject(tenant, cn);
    const refused = async () => {
      const { status, json } = await redo();
      expect([status, json.reason]).toEqual([409, 'no_pending_instance']);
    };
    await refused();
    await tenant.post(`${pathOf(cn)}/buy`);
    await activatePending(api, tenant, cn);
    await refused();
  });

  it('approves the pending instance by the current methods of the object, at once', async () => {
    await createObject(tenant, cn);
    const { id: instanceId } = (await tenant.post(`${pathOf(cn)}/buy`)).json;
    await api.database.query(
      `UPDATE issuance SET due_at = now() + interval '1 hour', approvals = jsonb_set(approvals, '{1,status}', '"approved"')
       WHERE public_id = $1`,
      [instanceId],
    );
    const before = await rowOf(instanceId);
    expect(before?.['due']).toBe(false);
    await tenant.post(pathOf(cn), { approval_method: 'email', approver_email: 'admin@example.com' });
    const { status, json } = await redo();
    expect([status, json.id, json.state]).toEqual([200, instanceId, 'pending']);
    expect(json).toMatchObject({
      approval_method: 'email',
      approver_email: 'admin@example.com',
      approval: [
        { name: cn, method: 'email', status: 'pending' },
        { name: 'example.com', method: 'email', status: 'pending' },
      ],
    });
    const after = await rowOf(instanceId);
    expect(after).toMatchObject({ due: true, lease_token: before?.['lease_token'] + 1 });
    expect(after?.['terms_id']).toBe(after?.['plan_terms_id']);
    // The same instance: nothing new was bought.
    expect((await tenant.post(`${pathOf(cn)}/buy`)).json.reason).toBe('already_pending');
  });

  it('keeps what is approved in an unchanged way, and the names and key that were bought', async () => {
    await createObject(tenant, cn, {
      sans: [{ type: 'dns', value: 'a.example.com', approval_method: 'dns' }],
    });
    const { instanceId } = await openIssuance(api, tenant, cn, { approved: [cn] });
    await tenant.post(pathOf(cn), {
      csr: csrFor(cn, otherKeys),
      sans: [{ type: 'dns', value: 'b.example.com', approval_method: 'dns' }],
    });
    const { json } = await redo();
    expect(json).toMatchObject({
      id: instanceId,
      sans: [{ value: 'a.example.com', approval_method: 'dns' }],
      approval: [
        { name: cn, method: 'dns', status: 'approved' },
        { name: 'a.example.com', method: 'dns', status: 'pending' },
      ],
    });
    const row = await rowOf(instanceId);
    expect(row?.['terms_id']).not.toBe(row?.['plan_terms_id']);
  });

  describe('of an approval by email', () => {
    const byEmail = { approval_method: 'email', approver_email: 'admin@example.com', sans: [] };
    /** What the worker does with every mailbox that an issuance waits for. */
    const requestApproval = async (ago: string, address = 'admin@example.com') =>
      await api.database.query(
        `INSERT INTO email_approval (account_id, plan_id, dns_name, address, asked_at)
         SELECT account_id, plan_id, $2, $3, now() - $4::interval FROM cert_object_v2 WHERE account_id = $1
         ON CONFLICT (plan_id, dns_name, address) DO UPDATE SET asked_at = excluded.asked_at, asked_again = false`,
        [tenant.accountId, cn, address, ago],
      );
    const askedAgain = async () =>
      await api.database.query(
        `SELECT address, asked_again FROM email_approval WHERE account_id = $1 ORDER BY address`,
        [tenant.accountId],
      );
    const mailsTo = async (address: string, count: number, ago: string) =>
      await api.database.query(
        `INSERT INTO mail (account_id, kind, recipient, facts, state, due_at, created_at, finished_at)
         SELECT $1, 'approval-request', $2, '{}', 'sent', now(), now() - $4::interval, now() FROM generate_series(1, $3)`,
        [tenant.accountId, address, count, ago],
      );
    beforeEach(async () => {
      await api.database.query(`TRUNCATE mail`);
      await createObject(tenant, cn, byEmail);
      await openIssuance(api, tenant, cn);
    });

    it('returns when the next mail can be sent while the last one is younger than ten minutes', async () => {
      expect((await redo()).status).toBe(200);
      await requestApproval('4 minutes');
      const { status, json, headers } = await redo();
      expect([status, json.reason]).toEqual([429, 'rate_limited']);
      expect(json.retry_after).toBeGreaterThan(300);
      expect(json.retry_after).toBeLessThanOrEqual(360);
      expect(headers['retry-after']).toBe(String(json.retry_after));
      expect(await askedAgain()).toEqual([{ address: 'admin@example.com', asked_again: false }]);
      await requestApproval('11 minutes');
      expect((await redo()).status).toBe(200);
      expect(await askedAgain()).toEqual([{ address: 'admin@example.com', asked_again: true }]);
    });

    it('returns it too when the address has reached its daily limit of mails', async () => {
      await requestApproval('11 minutes');
      await mailsTo('admin@example.com', 5, '23 hours');
      const { status, json } = await redo();
      expect([status, json.reason]).toEqual([429, 'rate_limited']);
      expect(json.retry_after).toBeGreaterThan(3_000);
      expect(json.retry_after).toBeLessThanOrEqual(3_600);
    });

    it('uses the current methods of the object, whenever the last mail was sent', async () => {
      await requestApproval('1 minute');
      await tenant.post(pathOf(cn), { ...byEmail, approver_email: 'webmaster@example.com' });
      expect((await redo()).json.approver_email).toBe('webmaster@example.com');
      await requestApproval('1 minute', 'webmaster@example.com');
      expect((await redo()).status).toBe(429);
      await tenant.post(pathOf(cn), { ...byEmail, approval_method: 'dns' });
      expect((await redo()).json).toMatchObject({ state: 'pending', approval_method: 'dns' });
    });

    it('checks a name that is approved by dns, although the mailbox of another cannot get a mail yet', async () => {
      const sans = [{ type: 'dns', value: 'a.example.com', approval_method: 'dns' }];
      await createObject(tenant, 'shop.example.com', { ...byEmail, sans });
      const at = pathOf('shop.example.com');
      const { id: instanceId } = (await tenant.post(`${at}/buy`)).json;
      await api.database.query(
        `INSERT INTO email_approval (account_id, plan_id, dns_name, address, asked_at)
         SELECT account_id, plan_id, cn, approver_email, now() FROM cert_object_v2
         WHERE account_id = $1 AND cn = 'shop.example.com'`,
        [tenant.accountId],
      );
      await api.database.query(
        `UPDATE issuance SET due_at = now() + interval '1 hour' WHERE public_id = $1`,
        [instanceId],
      );
      expect((await tenant.post(`${at}/redo_approval`)).status).toBe(200);
      expect(await rowOf(instanceId)).toMatchObject({ due: true });
      await api.database.query(
        `UPDATE issuance SET approvals = jsonb_set(approvals, '{1,status}', '"approved"') WHERE public_id = $1`,
        [instanceId],
      );
      expect((await tenant.post(`${at}/redo_approval`)).json.reason).toBe('rate_limited');
    });

    it('has nothing to wait for once the mailbox has approved', async () => {
      await requestApproval('1 minute');
      await api.database.query(`UPDATE email_approval SET approved_at = now() WHERE account_id = $1`, [
        tenant.accountId,
      ]);
      expect((await redo()).status).toBe(200);
    });
  });

  it('gets the same response with an Idempotency-Key, and another body is refused', async () => {
    await createObject(tenant, cn);
    await tenant.post(`${pathOf(cn)}/buy`);
    const keyed = (body: object) =>
      tenant.post(`${pathOf(cn)}/redo_approval`, body, { 'idempotency-key': 'key' });
    const first = await keyed({});
    expect((await keyed({})).text).toBe(first.text);
    expect((await keyed({ other: 1 })).json.reason).toBe('idempotency_key_reused');
  });

  it('can be repeated, and sent as a form', async () => {
    await createObject(tenant, cn);
    const { id } = (await tenant.post(`${pathOf(cn)}/buy`)).json;
    for (const _ of [1, 2, 3]) {
      expect((await tenant.postForm(`${pathOf(cn)}/redo_approval`, '')).json).toMatchObject({
        id,
        state: 'pending',
      });
    }
  });
});
