import { type SampleApi, sampleKeys, startSampleApi } from '../testing/sample-api';
import { exchange, expectUnharmed, parseResponse, refusalOf, request } from '../testing/wire';

let api: SampleApi;
beforeAll(async () => {
  api = await startSampleApi();
});
afterAll(() => api.app.close());

afterEach(async () => await expectUnharmed(api));

const bearer = `Authorization: Bearer ${sampleKeys.owner}`;

const refusal = async (...parts: readonly (string | Buffer)[]) => await refusalOf(api, ...parts);

describe('credentials', () => {
  it.each([
    ['none', 'X: y'],
    ['an unknown key', `Authorization: Bearer 1_${'x'.repeat(32)}`],
    ['an unknown scheme', 'Authorization: Negotiate abc'],
    ['a password', `Authorization: Basic ${Buffer.from(`${sampleKeys.owner}:x`).toString('base64')}`],
  ])('%s: 401 with both challenges', async (_what, header) => {
    const { status, headers, body } = parseResponse(
      await exchange(api.port, request('GET /whoami', [header])),
    );
    expect([status, (JSON.parse(body) as { code: string }).code, headers['www-authenticate']]).toEqual([
      401,
      'bad_credentials',
      'Bearer realm="Certwright"\nBasic realm="Certwright", charset="UTF-8"',
    ]);
  });

  it('that work say who calls, as Bearer and as Basic', async () => {
    const basic = `Authorization: Basic ${Buffer.from(`${sampleKeys.owner}:`).toString('base64')}`;
    for (const header of [bearer, basic]) {
      expect(parseResponse(await exchange(api.port, request('GET /whoami', [header]))).body).toBe(
        '{"accountId":"42","keyId":"1"}',
      );
    }
  });

  it('that are disabled, or lack the permission, receive 403', async () => {
    expect(await refusal(request('GET /orders', [`Authorization: Bearer ${sampleKeys.disabled}`]))).toEqual([
      403,
      'disabled_credentials',
    ]);
    expect(await refusal(request('GET /orders', [`Authorization: Bearer ${sampleKeys.searcher}`]))).toEqual([
      403,
      'unauthorized',
    ]);
  });

  it('beyond their rate receive 429 with Retry-After', async () => {
    const write = request('DELETE /orders/a', [`Authorization: Bearer ${sampleKeys.busy}`]);
    // At once: one more is due each second.
    const responses = await Promise.all(Array.from({ length: 5 }, () => exchange(api.port, write)));
    const limited = responses.map(parseResponse).filter(({ status }) => status !== 204);
    expect(limited.map(({ status, headers }) => [status, headers['retry-after']])).toEqual([[429, '1']]);
  });

  it('that are wrong receive 429 after ten from one address, right ones still work', async () => {
    const own = await startSampleApi({ trustedProxies: ['127.0.0.0/8'] });
    try {
      const from = (address: string, key: string): Promise<string> =>
        exchange(
          own.port,
          request('GET /whoami', [
            `Authorization: Bearer ${key}`,
            `X-Forwarded-For: 198.51.100.1, ${address}`,
          ]),
        );
      const wrong = `1_${'w'.repeat(32)}`;
      const statuses: number[] = [];
      for (let i = 0; i < 11; i += 1)
        statuses.push(parseResponse(await from(`2001:db8:0:1::${i}`, wrong)).status);
      expect(statuses).toEqual([...Array<number>(10).fill(401), 429]);
      expect(parseResponse(await from('2001:db8:0:1::1', sampleKeys.owner)).status).toBe(200);
      expect(parseResponse(await from('2001:db8:0:2::1', wrong)).status).toBe(401);
      expect(parseResponse(await from('not an address', wrong)).status).toBe(401);
    } finally {
      await own.app.close();
    }
  });

  it('that are wrong are counted for the client where its proxies write ports', async () => {
    const own = await startSampleApi({ trustedProxies: ['127.0.0.0/8', '10.0.0.0/8', 'fd00::/8'] });
    try {
      const statusOf = async (forwarded: string): Promise<number> => {
        const headers = [`Authorization: Bearer 1_${'w'.repeat(32)}`, `X-Forwarded-For: ${forwarded}`];
        return parseResponse(await exchange(own.port, request('GET /whoami', headers))).status;
      };
      const statuses: number[] = [];
      for (let port = 40_000; port < 40_011; port += 1) {
        const proxies = port % 2 === 0 ? `10.0.0.1:${port}, [fd00::1]:${port}` : '10.0.0.1';
        statuses.push(await statusOf(`192.0.2.7:${port}, ${proxies}`));
      }
      expect(statuses).toEqual([...Array<number>(10).fill(401), 429]);
      expect(await statusOf('192.0.2.7')).toBe(429);
      expect(await statusOf('192.0.2.8:40000, 10.0.0.1:40000')).toBe(401);
    } finally {
      await own.app.close();
    }
  });
});
