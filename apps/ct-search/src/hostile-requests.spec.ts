import fc from 'fast-check';
import { type SearchResponse, RunningSearch } from './testing/running-search';

// Hundreds of requests in one test.
jest.setTimeout(60_000);

let search: RunningSearch;
let key: { readonly authorization: string };
beforeAll(async () => {
  search = await RunningSearch.start();
  key = await search.key('firehose');
});
afterAll(async () => await search.stop());

const expectRefusal = ({ status, headers, json }: SearchResponse): void => {
  expect(status).toBeGreaterThanOrEqual(400);
  expect(status).toBeLessThan(500);
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
  expect(headers['access-control-allow-origin']).toBe('*');
  expect(headers['x-request-id']).toMatch(/./);
  expect(json).toMatchObject({ code: expect.any(String), message: expect.any(String) });
  expect(json.message).not.toMatch(/SQL|syntax|at .*\.ts|Error:/);
};

describe('a query', () => {
  it('with any parameters returns a page or an error', async () => {
    const names = fc.constantFrom(
      'domain',
      'include_subdomains',
      'match_wildcards',
      'after',
      'expand',
      'x',
      '__proto__',
      'domain[]',
      'domain[x]',
    );
    const values = fc.oneof(
      fc.constantFrom(
        'example.com',
        'www.example.com',
        'true',
        '1',
        '0',
        '',
        'issuer',
        '__proto__',
        'constructor',
      ),
      fc.string({ unit: 'binary' }),
      fc.stringMatching(/^[a-z0-9._*-]{1,40}\.com$/),
      fc.domain(),
      fc.bigInt().map(String),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(names, values), { maxLength: 6 }),
        fc.boolean(),
        async (pairs, firehose) => {
          const query = pairs.map(
            ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value.toWellFormed())}`,
          );
          const response = await search.get(
            `/v1/issuances${firehose ? '/firehose' : ''}?${query.join('&')}`,
            key,
          );
          if (response.status === 200) expect(response.json).toEqual([]);
          else expectRefusal(response);
        },
      ),
      { numRuns: 150 },
    );
  });

  it.each([
    ['a NUL', 'domain=a%00.example.com'],
    ['a lone surrogate', 'domain=%ED%A0%80.example.com'],
    ['bytes that are not UTF-8', 'domain=%ff.example.com'],
    ['half a percent-encoding', 'domain=example.com%2'],
    ['a domain of 14,000 characters', `domain=${'a.'.repeat(7_000)}example.com`],
    ['a URL of 15,100', `domain=example.com&x=${'a'.repeat(15_100)}`],
    ['a header of more than 16 KiB', `domain=example.com&x=${'a'.repeat(17_000)}`],
    ['an array', 'domain=example.com&domain=example.net'],
    ['SQL', "domain=x';DROP%20TABLE%20ct_log--.com"],
    ['nothing', ''],
  ])('with %s is refused', async (_, query) => {
    const response = await search.get(`/v1/issuances?${query}`);
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(response.status).toBeLessThan(500);
    expect(response.json).toMatchObject({ code: expect.any(String), message: expect.any(String) });
    expect(response.text.length).toBeLessThan(1_000);
  });

  it('accepts expand values of any kind and number', async () => {
    const values = [
      '__proto__',
      'constructor.prototype',
      'issuer.issuer.issuer',
      '...',
      '[]',
      ...Array<string>(900).fill('issuer.x'),
    ];
    const query = values.map((value) => `expand=${encodeURIComponent(value)}`).join('&');
    expect((await search.get(`/v1/issuances?domain=example.com&${query}`)).text).toBe('[]');
  });
});

describe('paths', () => {
  it.each([
    ['//v1//issuances/?domain=example.com', 200],
    ['/v1/issuances/firehose/?after=', 401],
    ['/v1/status/', 200],
    ['/v1/issuances/%00', 400],
    ['/v1/issuances/%ff', 400],
    ['/v1/issuances/..%2f..%2fetc', 404],
    ['/v1/issuances/1/2', 404],
    ['/v1/issuances/1.crt', 404],
    ['/v1/issuances/.der', 404],
    ['/v1', 200],
    ['/v1/', 200],
    ['/v2/issuances', 404],
    ['/', 200],
    ['/V1/issuances', 404],
  ])('%s', async (at, status) => {
    const response = await search.get(at);
    expect([response.status, response.headers['access-control-allow-origin']]).toEqual([status, '*']);
    if (status !== 200) expect(response.json.code).toMatch(/^(not_found|bad_request|bad_credentials)$/);
  });

  it('never cause an internal error, whatever the id', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1 }), async (id) => {
        const { status } = await search.get(`/v1/issuances/${encodeURIComponent(id.toWellFormed())}`);
        // An id may be generated as `firehose`, or as one with a query string.
        expect([200, 400, 401, 404]).toContain(status);
      }),
      { numRuns: 150 },
    );
  });
});

it('two Authorization headers are rejected as ambiguous', async () => {
  for (const at of ['/v1/issuances?domain=example.com', '/v1/status']) {
    const response = await search.get(at, { authorization: [key.authorization, key.authorization] });
    expectRefusal(response);
    expect([response.status, response.json.message]).toEqual([
      400,
      'The request has more than one Authorization header.',
    ]);
  }
});

describe('methods', () => {
  it('other than GET and HEAD are rejected, with the allowed ones', async () => {
    for (const at of ['/v1/issuances', '/v1/issuances/firehose', '/v1/issuances/1.der', '/v1/status']) {
      const response = await search.call('POST', at);
      expectRefusal(response);
      expect([response.status, response.json.code, response.headers['allow']]).toEqual([
        405,
        'method_not_allowed',
        'GET, HEAD, OPTIONS',
      ]);
    }
  });

  it('HEAD returns the same as GET, without a body', async () => {
    const responses = await Promise.all(
      ['/v1/issuances?domain=example.com', '/v1/issuances?domain=com', '/v1/issuances/1', '/v1/nothing'].map(
        async (at) => [await search.call('HEAD', at), await search.get(at)] as const,
      ),
    );
    for (const [head, get] of responses) {
      expect(head.bytes).toHaveLength(0);
      for (const name of ['content-length', 'content-type', 'retry-after', 'access-control-allow-origin'])
        expect(head.headers[name]).toBe(get.headers[name]);
      expect(head.status).toBe(get.status);
    }
  });
});

describe('pages of other origins', () => {
  it('may read responses with their headers', async () => {
    const { headers } = await search.get('/v1/issuances?domain=example.com', {
      origin: 'https://elsewhere.example',
    });
    expect(headers['access-control-allow-origin']).toBe('*');
    for (const name of ['Link', 'Retry-After', 'X-Request-Id', 'ETag'])
      expect(headers['access-control-expose-headers']).toContain(name);
    expect(headers).not.toHaveProperty('access-control-allow-headers');
  });

  it.each([
    '/v1/issuances?domain=example.com',
    '/v1/issuances/firehose',
    '/v1/issuances/1.pem',
    '/v1/status',
  ])('may send an API key to %s: the preflight says so, and needs none itself', async (at) => {
    const { status, headers, text } = await search.call('OPTIONS', at, {
      origin: 'https://elsewhere.example',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization',
    });
    expect([status, text]).toEqual([204, '']);
    expect(headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD',
      'access-control-max-age': '86400',
    });
    expect(headers['access-control-allow-headers']).toContain('Authorization');
  });
});

it('CORS headers are also sent with HTTP errors', async () => {
  expectRefusal(await search.get('/v1/status', { expect: 'a-miracle' }));
  expectRefusal(await search.get('/v1/status', { cookie: 'a'.repeat(20_000) }));
});
