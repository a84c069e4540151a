import { randomBytes, X509Certificate } from 'node:crypto';
import type { HostLook, Look, LookQuestion, NotPresented, Presented } from '@certwright/endpoint-checks';
import { ProbeQuestions, QuestionServer } from '@certwright/redis';
import { CertObjectsRepository } from '../cert-objects/cert-objects.repository';
import { temporaryCertificateOf } from '../instances/instance-json';
import { InstancesRepository } from '../instances/instances.repository';
import { certificateRequest, type KeyPair, keyPair } from '../testing/certificate-request';
import { attachCertificate, openIssuance } from '../testing/forged-instances';
import { type ReceivedResponse, RunningApi, type Tenant } from '../testing/running-api';

jest.setTimeout(60_000);

const log = { warn: () => undefined, info: () => undefined };
const chain = [Buffer.from('one intermediate'), Buffer.from('another one')];
let api: RunningApi;
let tenant: Tenant;
let keys: KeyPair;
let prober: QuestionServer;
/** Questions to the prober, and its result. */
const questions: LookQuestion[] = [];
let proberResult: Look | undefined;

beforeAll(async () => {
  keys = keyPair('p256');
  api = await RunningApi.start({ INSTALLATION_TESTS_PER_MIN: '1000' });
  prober = new QuestionServer(api.redis.access, { name: 'prober', log, concurrency: 10, drainMs: 0 });
  prober.addHandler('look-at-hosts', (data: LookQuestion) => {
    questions.push(data);
    return Promise.resolve(proberResult);
  });
  prober.listen(() => undefined);
}, 60_000);
beforeEach(async () => {
  tenant = await api.tenant();
  questions.length = 0;
  proberResult = { hosts: [], certificates: [] };
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

/** Of every instance, the newest first. */
async function temporaryCertificates(cn: string): Promise<Buffer[]> {
  const object = await api.app.get(CertObjectsRepository).find(tenant.accountId, cn);
  const wanted = { csr: 'all', chain: false } as const;
  const instances = await api.app.get(InstancesRepository).page(object?.planId ?? '', null, 10, wanted);
  return instances.map((each) => Buffer.from(temporaryCertificateOf(each) ?? []));
}
const base64 = (...certificates: readonly Buffer[]) => certificates.map((der) => der.toString('base64'));
const at443 = (host: string) => ({ host, ports: [443] });
const presents = (...chain: readonly number[]): Presented => ({
  kind: 'presented',
  chain,
  version: 'TLSv1.3',
  cipher: 'TLS_AES_128_GCM_SHA256',
  httpStatus: null,
});
const seen = (host: string, results: Readonly<Record<string, Presented | NotPresented>>): HostLook => ({
  host,
  lookUp: { kind: 'found' },
  addresses: Object.entries(results).map(([address, result]) => ({ address, port: 443, result })),
  omitted: 0,
});
/** The result where the prober finds these certificates at one address. */
async function testOf(certificates: readonly Buffer[], more: Partial<Presented> = {}): Promise<unknown> {
  const result = { ...presents(...certificates.keys()), ...more };
  proberResult = {
    hosts: [seen('www.example.com', { '192.0.2.1': result })],
    certificates: base64(...certificates),
  };
  const { json } = await test(at('www.example.com'));
  return (json.result as unknown[])[0];
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
    const leaf = await active('www.example.com');
    const [temporary = Buffer.of()] = await temporaryCertificates('www.example.com');
    const failed = (reason: NotPresented['reason'], problem: string) =>
      ({ kind: 'not_presented', reason, problem }) as const;
    proberResult = {
      hosts: [
        seen('www.example.com', {
          '2001:db8::1': presents(0),
          '192.0.2.1': presents(3),
          '192.0.2.2': failed('handshake', 'It is not TLS.'),
        }),
        { host: 'none.example.com', lookUp: { kind: 'no_name' }, addresses: [], omitted: 0 },
        seen('example.com', { '192.0.2.3': failed('internal', 'Not tested.') }),
      ],
      certificates: base64(leaf, ...chain, temporary),
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
    await active('www.example.com');
    await test(at('www.example.com'));
    await test(at('www.example.com', '?hostname=&port=&unknown=1&expand=crt'));
    const about = {
      hosts: [at443('www.example.com'), at443('example.com')],
      serverName: 'www.example.com',
      withHttpStatus: false,
    };
    expect(questions).toEqual([about, about]);
  });

  it('tests the hosts and the port that the caller names', async () => {
    await active('www.example.com');
    await test(at('WWW.example.com', '?hostname=%5B2001:db8::1%5D&hostname=B.example.com&port=8443'));
    expect(questions).toMatchObject([
      {
        hosts: [
          { host: '2001:db8::1', ports: [8443] },
          { host: 'b.example.com', ports: [8443] },
        ],
        serverName: 'www.example.com',
      },
    ]);
  });

  it('leaves out wildcards; where nothing else is left, there is nothing to find', async () => {
    await active('*.example.com');
    await test(at('*.example.com'));
    expect(questions).toMatchObject([{ hosts: [at443('example.com')], serverName: 'example.com' }]);
    await active('*.example.net', { sans: '[]' });
    const { status, json } = await test(at('*.example.net'));
    expect([status, json]).toEqual([200, { result: [] }]);
    await test(at('*.example.net', '?hostname=192.0.2.1'));
    expect(questions.slice(1)).toMatchObject([
      { hosts: [at443('192.0.2.1')], serverName: 'www.example.net' },
    ]);
  });

  it('lets the temporary certificates pass that instances were shown with', async () => {
    await active('www.example.com');
    // Seconds are what makes it differ from the next one.
    await api.database.query(`UPDATE issuance SET opened_at = opened_at - interval '1 hour'`);
    const pending = await openIssuance(api, tenant, 'www.example.com');
    const { json } = await tenant.get(
      `/api/v2/certs/www.example.com/instances/${pending.instanceId}?expand=crt`,
    );
    const temporaries = await temporaryCertificates('www.example.com');
    expect(temporaries[0]).toEqual(new X509Certificate(json.crt as string).raw);
    // That of the current instance as well: a server may still run it.
    expect(new Set(temporaries.map((each) => each.toString('hex'))).size).toBe(2);
    for (const temporary of temporaries) {
      const found = { correct: true, chained: true, dummy: true };
      expect(await testOf([temporary])).toMatchObject(found);
      expect(await testOf([temporary, Buffer.from('behind it')])).toMatchObject(found);
      expect(await testOf([Buffer.from('other'), temporary])).toMatchObject({ correct: false, dummy: false });
    }
  });

  it('compares with the current certificate, not with an older or a revoked one', async () => {
    const older = await active('www.example.com');
    const newer = randomBytes(32);
    await attachCertificate(api, tenant, 'www.example.com', { leaf: newer, chain: [] });
    expect(await testOf([newer])).toMatchObject({ correct: true, chained: true });
    expect(await testOf([older, ...chain])).toMatchObject({ correct: false, chained: true });
  });

  it.each(['TLSv1', 'TLSv1.1'])(
    'has no result for a server that speaks %s alone, as browsers',
    async (version) => {
      const leaf = await active('www.example.com');
      expect(await testOf([leaf, ...chain], { version })).toEqual({
        hostname: 'www.example.com',
        ip_address: '192.0.2.1',
        status: 'handshake_error',
        error: '192.0.2.1 port 443 speaks neither TLS 1.2 nor TLS 1.3.',
      });
    },
  );

  it.each([
    ['refused_address', 'connect_error'],
    ['connect', 'connect_error'],
    ['busy', 'connect_error'],
    ['handshake', 'handshake_error'],
    ['timeout', 'handshake_error'],
    ['too_large', 'handshake_error'],
    ['internal', 'internal_error'],
  ] as const)('has the message of the prober where it has nothing to show: %s', async (reason, status) => {
    await active('www.example.com');
    const result = { kind: 'not_presented', reason, problem: 'This is why.' } as const;
    proberResult = { hosts: [seen('www.example.com', { '192.0.2.1': result })], certificates: [] };
    const { json } = await test(at('www.example.com'));
    expect(json.result).toEqual([
      { hostname: 'www.example.com', ip_address: '192.0.2.1', status, error: 'This is why.' },
    ]);
  });

  it.each([
    [
      ['a', 16, 3],
      'This address and 2 more of the host were not tested: no more than 16 addresses of a host are.',
    ],
    [['a', 16, 1], 'This address was not tested: no more than 16 addresses of a host are.'],
    [
      ['a', 2, 2],
      'This address and 1 more of the host were not tested: one test connects to no more than 64 addresses. Ask for fewer hosts at once.',
    ],
    [
      ['a', 0, 1],
      'This address was not tested: one test connects to no more than 64 addresses. Ask for fewer hosts at once.',
    ],
  ] as const)('says so where addresses were left out: %j', async ([host, tested, omitted], error) => {
    const leaf = await active('www.example.com');
    const results = Array.from({ length: tested }, (_, nth) => [`192.0.2.${nth}`, presents(0)] as const);
    proberResult = {
      hosts: [
        { ...seen(host, Object.fromEntries(results)), omitted, firstOmitted: '198.51.100.1' },
        seen('b', { '192.0.2.1': presents(0) }),
      ],
      certificates: base64(leaf, ...chain),
    };
    const { json } = await test(at('www.example.com'));
    const entries = json.result as { hostname: string }[];
    expect(entries).toHaveLength(tested + 2);
    expect(entries[tested]).toEqual({
      hostname: host,
      ip_address: '198.51.100.1',
      status: 'internal_error',
      error,
    });
    expect(entries.at(-1)).toMatchObject({ hostname: 'b', status: 'conclusive' });
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
    const askLook = probes.askLook.bind(probes);
    const shortTimeout = jest
      .spyOn(probes, 'askLook')
      .mockImplementation((question) => askLook(question, 1_000));
    for (const silence of [undefined, { results: [] } as unknown as Look]) {
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
    limitedProber = new QuestionServer(limited.redis.access, {
      name: 'prober',
      log,
      concurrency: 1,
      drainMs: 0,
    });
    limitedProber.addHandler('look-at-hosts', () => Promise.resolve({ hosts: [], certificates: [] }));
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
