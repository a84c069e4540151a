import { ProviderFault } from '../provider-fault';
import type { ApiResponse, ApiRequest } from './call-api';
import { type Authorizer, bearer, fixed, JsonApi } from './json-api';

const token = 'planted-token-123456';

/** An API that returns these answers in turn, the last one forever. */
function api(
  answers: readonly (Partial<ApiResponse> | Error)[],
  authorizer: Authorizer = fixed(bearer(token)),
) {
  const requests: ApiRequest[] = [];
  const rests: number[] = [];
  const json = new JsonApi({
    provider: 'Provider',
    baseUrl: 'https://api.example/v1',
    authorizer,
    call: async (request) => {
      requests.push(request);
      const response = answers[Math.min(requests.length, answers.length) - 1];
      if (response instanceof Error) throw response;
      return { status: 200, headers: {}, text: '{}', ...response };
    },
    now: () => new Date('2026-11-01T00:00:00Z'),
    rest: async (ms) => void rests.push(ms),
    signal: new AbortController().signal,
    messageOf: (body) => body.member('message').string(),
  });
  return { json, requests, rests };
}

const gone = new ProviderFault('unavailable', 'no answer');
const post = { method: 'POST', path: '/records', body: { a: 1 } } as const;

describe('JsonApi', () => {
  it('a read is attempted three times on 5xx, a short 429 and a lost connection', async () => {
    for (const failure of [{ status: 502 }, { status: 429, headers: { 'retry-after': '1' } }, gone]) {
      const once = api([failure, { text: '{"ok":true}' }]);
      expect((await once.json.get('/zones')).member('ok').boolean()).toBe(true);
      const always = api([failure]);
      await expect(always.json.get('/zones')).rejects.toBeInstanceOf(ProviderFault);
      expect(always.requests).toHaveLength(3);
      expect(Math.max(...always.rests)).toBeLessThanOrEqual(2_000);
    }
  });

  it('a read is not retried after a refusal, nor after a long Retry-After', async () => {
    for (const failure of [
      { status: 400 },
      { status: 403 },
      { status: 429, headers: { 'retry-after': '60' } },
    ]) {
      const { json, requests } = api([failure]);
      await expect(json.get('/zones')).rejects.toBeInstanceOf(ProviderFault);
      expect(requests).toHaveLength(1);
    }
  });

  it('a write is sent once, unless it is repeatable', async () => {
    const write = api([{ status: 503 }]);
    await expect(write.json.request(post)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(write.requests).toHaveLength(1);
    const repeatable = api([{ status: 503 }]);
    await expect(repeatable.json.request({ ...post, repeatable: true })).rejects.toBeInstanceOf(
      ProviderFault,
    );
    expect(repeatable.requests).toHaveLength(3);
  });

  it('a rate limited write is sent again only after a short Retry-After', async () => {
    const soon = api([{ status: 429, headers: { 'retry-after': '1' } }, {}]);
    await soon.json.request(post);
    expect([soon.requests.length, soon.rests]).toEqual([2, [1_000]]);
    for (const headers of [{ 'retry-after': '60' }, {}] as Record<string, string>[]) {
      const { json, requests } = api([{ status: 429, headers }]);
      await expect(json.request(post)).rejects.toMatchObject({ kind: 'rate_limited' });
      expect(requests).toHaveLength(1);
    }
  });

  it('the outcome of a write is unknown when its repetition is rate limited', async () => {
    const limited = { status: 429, headers: { 'retry-after': '60' } };
    const { json } = api([gone, limited]);
    await expect(json.request({ ...post, repeatable: true })).rejects.toMatchObject({
      kind: 'unavailable',
      retryAfterS: 60,
    });
    await expect(api([gone, limited]).json.get('/zones')).rejects.toMatchObject({ kind: 'rate_limited' });
  });

  it.each([
    [401, 'auth_failed'],
    [403, 'auth_failed'],
    [404, 'rejected'],
    [408, 'unavailable'],
    [422, 'rejected'],
    [429, 'rate_limited'],
    [500, 'unavailable'],
    [302, 'unavailable'],
  ])('HTTP %i is %s', async (status, kind) => {
    await expect(api([{ status }]).json.request(post)).rejects.toMatchObject({ kind });
  });

  it("a refusal repeats the provider's text from the documented member, unless it contains a credential", async () => {
    const refusal = (message: string) =>
      api([{ status: 422, text: JSON.stringify({ message }) }]).json.request(post);
    await expect(refusal('TTL too low')).rejects.toThrow(
      'Provider refused the request (HTTP 422). It says: TTL too low',
    );
    await expect(refusal(`${token} is bad`)).rejects.toThrow(/^Provider refused the request \(HTTP 422\)\.$/);
  });

  it('text of an answer that is not JSON, or of a 5xx, are not repeated', async () => {
    await expect(api([{ status: 400, text: '<h1>x</h1>' }]).json.request(post)).rejects.toThrow(
      /\(HTTP 400\)\.$/,
    );
    await expect(api([{ status: 500, text: '{"message":"x"}' }]).json.request(post)).rejects.toThrow(
      /\(HTTP 500\)\.$/,
    );
  });

  it.each(['<html>', '{"a":1', '42', '"text"', 'true'])('a success with %p is unavailable', async (text) => {
    await expect(api([{ text }]).json.request(post)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('an empty success is a success without readable members', async () => {
    const { status, json } = await api([{ status: 204, text: '' }]).json.request(post);
    expect(status).toBe(204);
    expect(() => json.member('id')).toThrow(ProviderFault);
  });

  it('a refused authorization is replaced once', async () => {
    let renewals = 0;
    const renewing: Authorizer = { ...fixed(bearer(token)), renew: () => (renewals += 1) === 1 };
    const served = api([{ status: 401 }, {}], renewing);
    await served.json.request(post);
    expect(served.requests).toHaveLength(2);
    const refused = api([{ status: 401 }], renewing);
    await expect(refused.json.request(post)).rejects.toMatchObject({ kind: 'auth_failed' });
  });

  it('a query is encoded, and the body is sent as JSON', async () => {
    const { json, requests } = api([{}]);
    await json.request({ ...post, query: { name: 'a b&c', page: 2 } });
    expect(requests[0]).toMatchObject({
      url: 'https://api.example/v1/records?name=a+b%26c&page=2',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: '{"a":1}',
    });
  });
});
