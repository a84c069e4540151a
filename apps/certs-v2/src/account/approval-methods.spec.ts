import type { WebRuleQuestion } from '@certwright/jobs';
import { QuestionServer } from '@certwright/redis';
import { certificateRequest, keyPair } from '../testing/certificate-request';
import { type ReceivedResponse, RunningApi, type Tenant } from '../testing/running-api';

// The longest waits three seconds for a prober that does not respond, on a machine that may be busy.
jest.setTimeout(60_000);

let api: RunningApi;
let tenant: Tenant;
let prober: QuestionServer;
/** What the prober under test does; null: it does not respond. */
let respond: ((question: WebRuleQuestion) => Promise<unknown>) | null = null;

beforeAll(async () => {
  api = await RunningApi.start();
  const log = { warn: () => undefined, info: () => undefined };
  prober = new QuestionServer(api.redis.access, { name: 'spec-prober', log, concurrency: 20, drainMs: 0 });
  prober.addHandler('probe-web-rule', async (data: WebRuleQuestion) => await respond?.(data));
  prober.listen(() => undefined);
  await api.database.query(`UPDATE product SET http_approval = false, email_approval = false, available = true
    WHERE name = 'paid_ev_ca'`);
});
beforeEach(async () => {
  respond = null;
  tenant = await api.tenant();
});
afterAll(async () => {
  await prober.close();
  await api.stop();
});

const methods = async (cn: string, type = 'dv', of = tenant) =>
  await of.get(`/api/v2/products/${type}/approval?cn=${encodeURIComponent(cn)}`);
const refusalOf = ({ status, json }: ReceivedResponse) => [status, json.reason, json.param];

let lastId = 5_000;
const integrate = async (zone: string, state = 'ok') =>
  await api.database.query(
    `WITH made AS (INSERT INTO dns_integration (id, account_id, provider, description, handle, state, zones_due_at)
       VALUES ($1, $2, 'cloudflare', '', 'handle', $4, now()) RETURNING id, account_id)
     INSERT INTO dns_integration_zone (integration_id, account_id, name, zone_id) SELECT id, account_id, $3, 'z' FROM made`,
    [String((lastId += 1)), tenant.accountId, zone, state],
  );

/** Creates the rule of the account, as when a user sets up a web server. */
const createRule = async (cn: string) => {
  const csr = certificateRequest(keyPair('p256'), { CN: cn });
  await tenant.post(`/api/v2/certs/${cn}`, { csr, approval_method: 'http', sans: [] });
};
/** The web server follows the rule: the body is the content for the requested token. */
const followingRule = async ({ path }: WebRuleQuestion) => {
  const [row] = await api.database.query<{ content: string }>(
    `SELECT content FROM http_challenge WHERE token = $1`,
    [path.split('/').at(-1)],
  );
  return { kind: 'answered', status: 200, body: `${row?.content}\n`, hops: [] };
};
const anything = async () => ({ kind: 'answered', status: 200, body: 'anything', hops: [] });

const mailboxes = ['admin', 'administrator', 'hostmaster', 'postmaster', 'webmaster'];
const at = (...domains: string[]) =>
  domains.flatMap((domain) => mailboxes.map((mailbox) => `${mailbox}@${domain}`));

describe('how a name can be approved', () => {
  it('is listed with the addresses of the name first, then those of its parents', async () => {
    const { status, headers, json } = await methods('WWW.shop.example.com');
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    expect(json).toEqual({
      email: { available: true, addresses: at('www.shop.example.com', 'shop.example.com', 'example.com') },
      dns: { available: true, integrated: false },
      http: { available: true, integrated: false },
    });
  });

  it('is never http for a wildcard', async () => {
    expect((await methods('*.example.com')).json).toEqual({
      email: { available: true, addresses: at('example.com') },
      dns: { available: true, integrated: false },
      http: { available: false, integrated: false },
    });
  });

  it('is what the product allows', async () => {
    expect((await methods('example.com', 'ev')).json).toMatchObject({
      email: { available: false, addresses: [] },
      dns: { available: true },
      http: { available: false },
    });
  });

  it('is not dns where the name leaves no room for the record', async () => {
    const long = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(40)}.example.com`;
    expect((await methods(long)).json.dns).toEqual({ available: false, integrated: false });
  });

  it.each([
    ['ov', 'example.com', 400, 'bad_type', 'type'],
    ['constructor', 'example.com', 400, 'bad_type', 'type'],
    ['%ff', 'example.com', 400, 'bad_request', undefined],
    ['dv', '', 400, 'missing_param', 'cn'],
    ['dv', 'co.uk', 400, 'bad_cn', 'cn'],
    ['dv', 'a\0b.example.com', 400, 'bad_request', undefined],
    ['dv', `${'a.'.repeat(150)}example.com`, 400, 'bad_cn', 'cn'],
  ])('of type %s and name %j is refused: %d %s', async (type, cn, ...refusal) => {
    expect(refusalOf(await methods(cn, type))).toEqual(refusal);
  });

  it('is refused without a name, or with two', async () => {
    expect(refusalOf(await tenant.get('/api/v2/products/dv/approval'))).toEqual([400, 'missing_param', 'cn']);
    expect(
      refusalOf(await tenant.get('/api/v2/products/dv/approval?cn=a.example.com&cn=b.example.com')),
    ).toEqual([400, 'bad_param', 'cn']);
  });
});

describe('dns.integrated', () => {
  const integrated = async (cn: string) => (await methods(cn)).json.dns.integrated;

  it('reports that an integration of the account has the zone of the name', async () => {
    await integrate('example.com');
    expect([await integrated('example.com'), await integrated('*.a.example.com')]).toEqual([true, true]);
    expect([await integrated('notexample.com'), await integrated('example.net')]).toEqual([false, false]);
  });

  it('is decided by the longest zone, and by whether it works', async () => {
    await integrate('example.com');
    await integrate('a.example.com', 'failing');
    expect([await integrated('a.example.com'), await integrated('b.example.com')]).toEqual([false, true]);
  });

  it('is nothing that another account’s integration does', async () => {
    await integrate('example.com');
    tenant = await api.tenant();
    expect(await integrated('example.com')).toBe(false);
  });
});

describe('http.integrated', () => {
  const integrated = async (cn: string) => (await methods(cn)).json.http.integrated;

  it('reports that the web server follows the rule of the account', async () => {
    await createRule('example.com');
    respond = followingRule;
    expect([await integrated('example.com'), await integrated('other.example.com')]).toEqual([true, true]);
  });

  it('is not reported for a server with another response, nor without a result', async () => {
    await createRule('example.com');
    respond = anything;
    expect(await integrated('example.com')).toBe(false);
    respond = null;
    expect(await integrated('silent.example.com')).toBe(false);
  });

  it('is not checked for an account without a rule', async () => {
    respond = async () => {
      throw new Error('unexpected request to the prober');
    };
    expect(await integrated('example.com')).toBe(false);
  });
});
