import { createHash, randomBytes, X509Certificate } from 'node:crypto';
import type { InstallationAnswer, InstallationQuestion } from '@certwright/jobs';
import { ProbeQuestions, QuestionServer } from '@certwright/redis';
import { certificateRequest, type KeyPair, keyPair } from '../testing/certificate-request';
import { attachCertificate, openIssuance } from '../testing/forged-instances';
import { type ReceivedResponse, RunningApi, type Tenant } from '../testing/running-api';

jest.setTimeout(60_000);

const log = { warn: () => undefined, info: () => undefined };
const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');
const chain = [Buffer.from('one intermediate'), Buffer.from('another one')];
let api: RunningApi;
let tenant: Tenant;
let keys: KeyPair;
let prober: QuestionServer;
/** Questions to the prober, and its result. */
const questions: InstallationQuestion[] = [];
let proberResult: InstallationAnswer | undefined;

beforeAll(async () => {
  keys = keyPair('p256');
  api = await RunningApi.start({ INSTALLATION_TESTS_PER_MIN: '1000' });
  prober = new QuestionServer(api.redis.url, { name: 'prober', log, concurrency: 10, drainMs: 0 });
  prober.addHandler('test-installation', (data: InstallationQuestion) => {
    questions.push(data);
    return Promise.resolve(proberResult);
  });
  prober.listen(() => undefined);
}, 60_000);
beforeEach(async () => {
  tenant = await api.tenant();
  questions.length = 0;
  proberResult = { tests: [] };
});
afterAll(async () => {
  await prober.close();
  await api.stop();
});

const at = (cn: string, query = '') => `/api/v2/certs/${encodeURIComponent(cn)}/test${query}`;
async function object(cn: string, more: Readonly<Record<string, string>> = {}, of = tenant): Promise<void> {
  const csr = certificateRequest(keys, { CN: cn });
  const made = await of.postForm(`/api/v2/certs/${encodeURIComponent(cn)}`, {
    csr,
    approval_method: 'dns',
    ...more,
  });
  if (made.status !== 200) throw new Error(made.text);
}
/** @returns the leaf */
async function active(cn: string, more: Readonly<Record<string, string>> = {}): Promise<Buffer> {
  await object(cn, more);
  const leaf = randomBytes(32);
  await attachCertificate(api, tenant, cn, { leaf, chain });
  return leaf;
}

/** Retries after a 503, as callers do: on a busy machine Redis may respond too late. */
async function test(path: string, of = tenant): Promise<ReceivedResponse> {
  for (let tries = 0; ; tries += 1) {
    const questionsBefore = questions.length;
    const response = await of.get(path);
    if (response.status !== 503 || tries === 10) return response;
    questions.length = questionsBefore;
  }
}

describe('GET /certs/{CN}/test', () => {
  it('returns one test result object per address', async () => {
    await active('www.example.com');
    const host = 'www.example.com';
    proberResult = {
      tests: [
        {
          host,
          address: '2001:db8::1',
          status: 'conclusive',
          correct: true,
          chained: false,
          temporary: false,
        },
        { host, address: '192.0.2.1', status: 'conclusive', correct: true, chained: true, temporary: true },
        { host, address: '192.0.2.2', status: 'handshake_error', problem: 'It is not TLS.' },
        { host: 'example.com', address: '', status: 'connect_error', problem: 'It does not exist.' },
        { host: 'example.com', address: '192.0.2.3', status: 'internal_error', problem: 'Not tested.' },
      ],
    };
    const { status, headers, json } = await test(at('www.example.com'));
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    expect(json).toEqual({
      result: [
        {
          hostname: 'www.example.com',
          ip_address: '2001:db8::1',
          status: 'conclusive',
          correct: true,
          chained: false,
          dummy: false,
        },
        {
          hostname: 'www.example.com',
          ip_address: '192.0.2.1',
          status: 'conclusive',
          correct: true,
          chained: true,
          dummy: true,
        },
        {
          hostname: 'www.example.com',
          ip_address: '192.0.2.2',
          status: 'handshake_error',
          error: 'It is not TLS.',
        },
        { hostname: 'example.com', ip_address: '192.0.2.3', status: 'internal_error', error: 'Not tested.' },
      ],
    });
  });

  it('tests every host name of the current certificate on port 443 by default', async () => {
    const leaf = await active('www.example.com');
    await test(at('www.example.com'));
    await test(at('www.example.com', '?hostname=&port=&unknown=1&expand=crt'));
    const about = {
      hosts: ['www.example.com', 'example.com'],
      port: 443,
      serverName: 'www.example.com',
      leafSha256: sha256(leaf),
      chainSha256: chain.map(sha256),
    };
    expect(questions).toMatchObject([about, about]);
  });

  it('tests the hosts and the port that the caller names', async () => {
    await active('www.example.com');
    await test(at('WWW.example.com', '?hostname=%5B2001:db8::1%5D&hostname=B.example.com&port=8443'));
    expect(questions).toMatchObject([
      { hosts: ['2001:db8::1', 'b.example.com'], port: 8443, serverName: 'www.example.com' },
    ]);
  });

  it('leaves out wildcards; where nothing else is left, there is nothing to find', async () => {
    await active('*.example.com');
    await test(at('*.example.com'));
    expect(questions).toMatchObject([{ hosts: ['example.com'], serverName: 'example.com' }]);
    await active('*.example.net', { sans: '[]' });
    const { status, json } = await test(at('*.example.net'));
    expect([status, json]).toEqual([200, { result: [] }]);
    await test(at('*.example.net', '?hostname=192.0.2.1'));
    expect(questions.slice(1)).toMatchObject([{ hosts: ['192.0.2.1'], serverName: 'www.example.net' }]);
  });

  it('lets the temporary certificates pass that instances were shown with', async () => {
    await active('www.example.com');
    const pending = await openIssuance(api, tenant, 'www.example.com');
    const { json } = await tenant.get(
      `/api/v2/certs/www.example.com/instances/${pending.instanceId}?expand=crt`,
    );
    await test(at('www.example.com'));
    const [question] = questions;
    expect(question?.temporarySha256).toContain(sha256(new X509Certificate(json.crt as string).raw));
    // That of the current instance as well: a server may still run it.
    expect(question?.temporarySha256).toHaveLength(2);
  });

  it('compares with the current certificate, not with an older or a revoked one', async () => {
    await active('www.example.com');
    const newer = randomBytes(32);
    await attachCertificate(api, tenant, 'www.example.com', { leaf: newer, chain: [] });
    await test(at('www.example.com'));
    expect(questions).toMatchObject([{ leafSha256: sha256(newer), chainSha256: [] }]);
  });
});

describe('a test is refused', () => {
  it('where the account has no certificate of the name, though another has', async () => {
    await active('www.example.com');
    const other = await api.tenant();
    const { status, json } = await other.get(at('www.example.com'));
    expect([status, json.reason]).toEqual([404, 'no_such_cert']);
    expect(questions).toEqual([]);
  });

  it.each([
    ['no instance', async () => undefined],
    ['a pending one alone', async () => void (await openIssuance(api, tenant, 'www.example.com'))],
    [
      'an expired one',
      async () =>
        void (await attachCertificate(api, tenant, 'www.example.com', {
          notAfter: new Date(Date.now() - 1_000),
        })),
    ],
    [
      'a revoked one',
      async () =>
        void (await attachCertificate(api, tenant, 'www.example.com', {
          revokedAt: new Date(),
          isCurrent: false,
        })),
    ],
  ])('while it has %s', async (_what, prepare) => {
    await object('www.example.com');
    await prepare();
    const { status, json } = await tenant.get(at('www.example.com'));
    expect([status, json.reason]).toEqual([409, 'inactive_cert']);
    expect(questions).toEqual([]);
  });

  it.each([
    ['hostname', '?hostname=localhost'],
    ['hostname', '?hostname=*.example.com'],
    ['hostname', '?hostname=www.example.com&hostname=127.1'],
    ['hostname', `?${Array.from({ length: 21 }, (_, each) => `hostname=h${each}.example.com`).join('&')}`],
    ['port', '?port=0'],
    ['port', '?port=65536'],
    ['port', '?port=-1'],
    ['port', '?port=443.0'],
    ['port', '?port=https'],
    ['port', '?port=443&port=8443'],
    ['port', '?port=999999999999999999999'],
  ])('for a %s that is none: %s', async (param, query) => {
    await active('www.example.com');
    const { status, json } = await tenant.get(at('www.example.com', query));
    expect([status, json.reason, json.param]).toEqual([400, 'bad_param', param]);
    expect(questions).toEqual([]);
  });

  it.each(['?__proto__=1', '?constructor=1&hostname=www.example.com', '?hostname[]=localhost'])(
    'not for names that mean nothing: %s',
    async (query) => {
      await active('www.example.com');
      expect((await test(at('www.example.com', query))).status).toBe(200);
    },
  );

  it('for a common name that is none, and for a path that cannot be read', async () => {
    expect((await tenant.get(at('localhost'))).json).toMatchObject({ reason: 'bad_cn', param: 'cn' });
    expect((await tenant.get('/api/v2/certs/%00/test')).status).toBe(400);
    expect((await tenant.get('/api/v2/certs/%ff/test')).status).toBe(400);
  });

  it('without credentials, or with a key for something else', async () => {
    expect((await api.call('GET', at('www.example.com'))).status).toBe(401);
    const watcher = await api.tenant('Search Certificates');
    expect((await watcher.get(at('www.example.com'))).status).toBe(403);
  });

  it('with any other method', async () => {
    expect((await tenant.post(at('www.example.com'), {})).json).toMatchObject({
      reason: 'method_not_allowed',
    });
  });
});

describe('the prober', () => {
  it('that does not respond, or responds unintelligibly, leads to 503 with Retry-After', async () => {
    await active('www.example.com');
    const probes = api.app.get(ProbeQuestions);
    const askTls = probes.askTls.bind(probes);
    const shortTimeout = jest
      .spyOn(probes, 'askTls')
      .mockImplementation((question) => askTls(question, 1_000));
    for (const silence of [undefined, { results: [] } as unknown as InstallationAnswer]) {
      proberResult = silence;
      const { status, headers, json } = await tenant.get(at('www.example.com'));
      expect([status, json.reason, json.retry_after]).toEqual([503, 'service_outage', 10]);
      expect(headers['retry-after']).toBe('10');
    }
    shortTimeout.mockRestore();
  });
});

describe('the limit of tests', () => {
  let limited: RunningApi;
  let limitedProber: QuestionServer;
  beforeAll(async () => {
    limited = await RunningApi.start({ INSTALLATION_TESTS_PER_MIN: '2' });
    limitedProber = new QuestionServer(limited.redis.url, {
      name: 'prober',
      log,
      concurrency: 1,
      drainMs: 0,
    });
    limitedProber.addHandler('test-installation', () => Promise.resolve({ tests: [] }));
    limitedProber.listen(() => undefined);
  }, 60_000);
  afterAll(async () => {
    await limitedProber.close();
    await limited.stop();
  });

  it('holds for each account by itself, and counts only what leads to a test', async () => {
    const [one, other] = [await limited.tenant(), await limited.tenant()];
    for (const each of [one, other]) {
      await object('www.example.com', {}, each);
      await attachCertificate(limited, each, 'www.example.com');
    }
    for (const query of ['?port=0', '?hostname=localhost', '?port=x']) {
      expect((await one.get(at('www.example.com', query))).status).toBe(400);
    }
    expect((await one.get(at('www.example.org'))).status).toBe(404);
    // While Redis is slow, which it may be here, the process counts by itself: then there are two buckets.
    const responses: ReceivedResponse[] = [];
    while (responses.at(-1)?.status !== 429 && responses.length <= 4) {
      responses.push(await one.get(at('www.example.com')));
    }
    expect(responses.length).toBeGreaterThan(2);
    const { status, headers, json } = responses.at(-1) as ReceivedResponse;
    expect([status, json.reason]).toEqual([429, 'rate_limited']);
    expect(json.retry_after).toBeGreaterThanOrEqual(1);
    expect(json.retry_after).toBeLessThanOrEqual(30);
    expect(headers['retry-after']).toBe(String(json.retry_after));
    expect((await other.get(at('www.example.com'))).status).not.toBe(429);
  });
});
