import type { WebRuleQuestion } from '@certwright/jobs';
import { QuestionServer } from '@certwright/redis';
import { certificateRequest, keyPair } from '../testing/certificate-request';
import { openIssuance } from '../testing/forged-instances';
import { RunningApi, type Tenant } from '../testing/running-api';
import { accountCheckRate } from './web-rule-check-limit';
import { maxChecks } from './web-rule-checks';

const keys = keyPair('p256');
const path = (cn: string) => `/api/v2/certs/${encodeURIComponent(cn)}`;
const statuses = '?expand=dns_approval.status&expand=http_approval.status';

// The longest waits three seconds for a prober that does not respond, on a machine that may be busy.
jest.setTimeout(30_000);

let api: RunningApi;
let tenant: Tenant;
/** What the prober under test does; null: there is none. */
let respond: ((question: WebRuleQuestion) => Promise<unknown>) | null = null;
const questions: WebRuleQuestion[] = [];
let prober: QuestionServer;

beforeAll(async () => {
  api = await RunningApi.start();
  const log = { warn: () => undefined, info: () => undefined };
  prober = new QuestionServer(api.redis.access, { name: 'spec-prober', log, concurrency: 20, drainMs: 0 });
  prober.addHandler('probe-web-rule', async (data: WebRuleQuestion) => {
    questions.push(data);
    return await respond?.(data);
  });
  prober.listen(() => undefined);
});
beforeEach(async () => {
  respond = null;
  questions.length = 0;
  tenant = await api.tenant();
});
afterAll(async () => {
  await prober.close();
  await api.stop();
});

const save = async (cn: string, more: object, query = '') => {
  const csr = certificateRequest(keys, { CN: cn });
  const { status, json } = await tenant.post(`${path(cn)}${query}`, { csr, sans: [], ...more });
  expect([status, json.message]).toEqual([200, undefined]);
  return json;
};
const ready = async (cn: string) => {
  const { dns_approval, http_approval } = (await tenant.get(`${path(cn)}${statuses}`)).json;
  return (dns_approval ?? http_approval).status.ready;
};

let lastId = 1_000;
/** @returns its id */
const integrate = async (zone: string, state = 'ok') => {
  const id = String((lastId += 1));
  await api.database.query(
    `WITH made AS (INSERT INTO dns_integration (id, account_id, provider, description, handle, state, zones_due_at)
       VALUES ($1, $2, 'cloudflare', '', 'handle', $4, now()) RETURNING id, account_id)
     INSERT INTO dns_integration_zone (integration_id, account_id, name, zone_id) SELECT id, account_id, $3, 'z' FROM made`,
    [id, tenant.accountId, zone, state],
  );
  return id;
};

/** The web server follows the rule: the body is the content for the requested token. */
const followingRule = async ({ path: wanted }: WebRuleQuestion) => {
  const token = wanted.split('/').at(-1);
  const [row] = await api.database.query<{ content: string }>(
    `SELECT content FROM http_challenge WHERE token = $1`,
    [token],
  );
  return { kind: 'answered', status: 200, body: `${row?.content}\n`, hops: [] };
};

describe('dns_approval.status.ready', () => {
  it('is shown on request, of the object, of each SAN and of the added one', async () => {
    const sans = [
      { value: 'a.example.com', approval_method: 'dns' },
      { value: 'b.example.com', approval_method: 'email', approver_email: 'admin@example.com' },
    ];
    const status = { status: { ready: false } };
    const json = await save('example.com', { approval_method: 'dns', sans }, statuses);
    expect(json).toMatchObject({ dns_approval: status, sans: [{ dns_approval: status }, {}] });
    expect(json.sans[1]).not.toHaveProperty('dns_approval');
    expect(await save('example.com', { sans: null }, statuses)).toMatchObject({
      default_san: { dns_approval: status },
    });
    const plain = await save('example.com', { sans });
    expect(plain.dns_approval).not.toHaveProperty('status');
    const ofSans = await save('example.com', { sans }, '?expand=sans.dns_approval.status');
    expect(ofSans.dns_approval).not.toHaveProperty('status');
    expect(ofSans.sans[0].dns_approval).toMatchObject(status);
  });

  it('is true where an integration publishes the record by itself', async () => {
    await save('www.a.example.com', { approval_method: 'dns' });
    await integrate('example.org');
    expect(await ready('www.a.example.com')).toBe(false);
    await integrate('example.com');
    expect(await ready('www.a.example.com')).toBe(true);
    // A longer zone holds the name, and its provider does not respond.
    await integrate('a.example.com', 'failing');
    expect(await ready('www.a.example.com')).toBe(false);
  });

  it('is true when a record is in place', async () => {
    await save('*.example.com', { approval_method: 'dns' });
    const id = await integrate('example.com', 'failing');
    const record = async (state: string) =>
      await api.database.query(
        `INSERT INTO approval_record (account_id, integration_id, dns_name, zone_name, target, state)
         VALUES ($1, $2, 'example.com', 'example.com', 't', $3)
         ON CONFLICT (account_id, dns_name) WHERE state <> 'removed' DO UPDATE SET state = excluded.state`,
        [tenant.accountId, id, state],
      );
    await record('wanted');
    expect(await ready('*.example.com')).toBe(false);
    await record('standing');
    expect(await ready('*.example.com')).toBe(true);
  });

  it('is what an issuance found last', async () => {
    await save('example.com', { approval_method: 'dns' });
    const opened = await openIssuance(api, tenant, 'example.com', {
      approved: ['example.com'],
      state: 'canceled',
    });
    expect(await ready('example.com')).toBe(true);
    const age = async (interval: string) =>
      await api.database.query(
        `UPDATE issuance SET approvals = jsonb_set(approvals, '{0,checkedAt}', to_jsonb(now() - $2::interval)) WHERE id = $1`,
        [opened.issuanceId, interval],
      );
    await age('201 days');
    expect(await ready('example.com')).toBe(false);
    await age('1 hour');
    // A newer one has not checked yet.
    const newer = await openIssuance(api, tenant, 'example.com');
    expect(await ready('example.com')).toBe(true);
    await api.database.query(
      `UPDATE issuance SET approvals = jsonb_set(approvals, '{0,checkedAt}', to_jsonb(now())) WHERE id = $1`,
      [newer.issuanceId],
    );
    expect(await ready('example.com')).toBe(false);
  });
});

describe('http_approval.status.ready', () => {
  it('is true when the web server follows the rule, and false when it returns anything else', async () => {
    respond = followingRule;
    await save('a.example.com', { approval_method: 'http' });
    expect(await ready('a.example.com')).toBe(true);
    expect(questions).toEqual([
      {
        dnsName: 'a.example.com',
        path: expect.stringMatching(/^\/\.well-known\/acme-challenge\/[\w-]{27}$/),
      },
    ]);
    const others = [
      { kind: 'answered', status: 200, body: 'hello', hops: [] },
      { kind: 'answered', status: 404, body: '', hops: [] },
      { kind: 'failed', problem: 'no route', hops: [] },
    ];
    for (const [at, other] of others.entries()) {
      respond = () => Promise.resolve(other);
      await save(`n${at}.example.com`, { approval_method: 'http' });
      expect(await ready(`n${at}.example.com`)).toBe(false);
    }
  });

  it('is what an issuance found last when the prober does not respond in time', async () => {
    for (const name of ['a', 'b']) await save(`${name}.example.com`, { approval_method: 'http' });
    await openIssuance(api, tenant, 'a.example.com', { approved: ['a.example.com'] });
    expect(await Promise.all([ready('a.example.com'), ready('b.example.com')])).toEqual([true, false]);
  });

  it('limits the names checked per request, regardless of the number of objects', async () => {
    respond = followingRule;
    const sans = Array.from({ length: 12 }, (_, at) => ({
      value: `n${at}.example.com`,
      approval_method: 'http',
    }));
    await save('example.com', { approval_method: 'http', sans });
    await save('example.org', { approval_method: 'http' });
    const { data } = (await tenant.get(`/api/v2/certs${statuses}`)).json;
    expect(questions).toHaveLength(maxChecks);
    const shown = [data[0], ...data[0].sans, data[1]].map((each) => each.http_approval.status.ready);
    expect(shown.filter(Boolean)).toHaveLength(maxChecks);
    expect(shown[0]).toBe(true);
  });

  it('limits the requests to a web server, however often a caller polls', async () => {
    respond = followingRule;
    await save('example.com', { approval_method: 'http' });
    const found = await Promise.all(Array.from({ length: 5 }, () => ready('example.com')));
    expect(found).toEqual([true, true, true, true, true]);
    expect(questions).toHaveLength(1);
  });

  it('limits the checks of one account, so that others get their turn with the prober', async () => {
    // No probe responds in time, as when an account has made its servers slow.
    const sansOf = (object: number) =>
      Array.from({ length: maxChecks - 1 }, (_, at) => ({
        value: `s${at}.n${object}.example.com`,
        approval_method: 'http',
      }));
    const objects = Array.from({ length: 8 }, (_, object) => object);
    const begun = performance.now();
    for (const object of objects)
      await save(`n${object}.example.com`, { approval_method: 'http', sans: sansOf(object) });
    const shown = await Promise.all(objects.map((object) => ready(`n${object}.example.com`)));
    expect(shown).toEqual(objects.map(() => false));
    const refilled = Math.ceil(((performance.now() - begun) / 1_000) * accountCheckRate.ratePerS);
    expect(questions.length).toBeGreaterThanOrEqual(accountCheckRate.burst);
    // While Redis is slow, the process uses a bucket of its own, which has a burst, too.
    expect(questions.length).toBeLessThanOrEqual(2 * (accountCheckRate.burst + refilled));

    const other = tenant;
    tenant = await api.tenant();
    respond = followingRule;
    await save('example.org', { approval_method: 'http' });
    expect([other.accountId === tenant.accountId, await ready('example.org')]).toEqual([false, true]);
  });

  it('is checked before the transaction of a change, so that no lock waits for a web server', async () => {
    await save('example.com', { approval_method: 'http' });
    let otherIsDone: (value: unknown) => void = () => undefined;
    const other = new Promise((resolve) => (otherIsDone = resolve));
    respond = async (question) => {
      await other;
      return await followingRule(question);
    };
    const saving = save('example.com', { tags: ['checked'] }, statuses);
    const changed = await save('example.com', { muted: true });
    otherIsDone(null);
    expect(changed.muted).toBe(true);
    expect(await saving).toMatchObject({
      muted: true,
      tags: ['checked'],
      http_approval: { status: { ready: true } },
    });
  });

  it('does not check names of a refused request', async () => {
    respond = followingRule;
    const { status } = await tenant.post(`${path('example.com')}${statuses}`, { approval_method: 'http' });
    expect([status, questions]).toEqual([400, []]);
  });
});
