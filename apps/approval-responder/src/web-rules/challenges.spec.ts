import { randomBytes } from 'node:crypto';
import { Challenges } from '@certwright/approvals';
import { RunningResponder } from '../testing/running-responder';

const [tenantA, tenantB] = ['1000000000001', '1000000000002'];
const dnsName = 'a.example.com';

let responder: RunningResponder;
let secretA: string;
let secretB: string;

beforeAll(async () => {
  responder = await RunningResponder.start();
  [secretA, secretB] = [await responder.tenant(tenantA), await responder.tenant(tenantB)];
});
afterAll(async () => await responder.stop());

const random = () => randomBytes(20).toString('base64url');

/** A challenge for the name, of tenant A by default. */
async function challenge(accountId = tenantA, name = dnsName) {
  const made = await responder.challenges.open(accountId, name, { token: random(), content: random() });
  if (made === null) throw new Error('the account has no rule');
  return made;
}

const place = (secret: string, token: string) => `/${secret}/.well-known/acme-challenge/${token}`;
const get = async (path: string, headers: Record<string, string> = {}) =>
  await responder.call('GET', path, { headers });

/** The response to every other request: the same status, headers and body. */
async function nothing() {
  const { status, headers, text } = await get('/no/such/path');
  return { status, headers: comparable(headers), text };
}

function comparable(headers: Readonly<Record<string, unknown>>) {
  return { ...headers, date: null, 'x-request-id': null };
}

describe('a request through the web server rule of an account', () => {
  it('is answered with the content of the challenge', async () => {
    const { token, content } = await challenge();
    for (const prefix of ['acme-challenge', 'pki-validation']) {
      const response = await get(`/${secretA}/.well-known/${prefix}/${token}`);
      expect(response).toMatchObject({ status: 200, text: content });
      expect(response.headers).toMatchObject({
        'content-type': 'text/plain; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'content-length': String(content.length),
      });
    }
  });

  it('is answered to HEAD with the same header and no body', async () => {
    const { token, content } = await challenge();
    const response = await responder.call('HEAD', place(secretA, token));
    expect(response).toMatchObject({ status: 200, text: '' });
    expect(response.headers['content-length']).toBe(String(content.length));
  });

  it('is answered when X-Forwarded-Host names the challenge’s name, as sent by a proxying server', async () => {
    const { token, content } = await challenge();
    expect(await get(place(secretA, token), { 'x-forwarded-host': dnsName })).toMatchObject({
      status: 200,
      text: content,
    });
  });
});

describe('a CA request through the web server rule (http-01)', () => {
  /** Publishes as the worker does before it responds to the challenge. */
  async function published(accountId = tenantA, token = random()) {
    const file = { token, content: `${token}.${random()}`, accountId, dnsName };
    await new Challenges(responder.database).publishFiles([file]);
    return file;
  }

  it('is answered with the key authorization', async () => {
    const { token, content } = await published();
    const response = await get(place(secretA, token));
    expect(response).toMatchObject({ status: 200, text: content });
    expect(response.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
    });
    const forwarded = { 'x-forwarded-host': dnsName };
    expect(await get(place(secretA, token), forwarded)).toMatchObject({ status: 200, text: content });
  });

  it('gets each account’s own key authorization when two have the same token', async () => {
    const ofA = await published(tenantA);
    const ofB = await published(tenantB, ofA.token);
    expect((await get(place(secretA, ofA.token))).text).toBe(ofA.content);
    expect((await get(place(secretB, ofA.token))).text).toBe(ofB.content);
  });

  it('gets 404 by another account’s rule, for another name, or once it has expired or is withdrawn', async () => {
    const expected = await nothing();
    const { token } = await published();
    const expired = await published();
    const withdrawn = await published();
    await responder.database.query(`UPDATE challenge_file SET expires_at = now() WHERE token = $1`, [
      expired.token,
    ]);
    await new Challenges(responder.database).withdrawFiles([withdrawn]);
    for (const [secret, requestedToken, headers] of [
      [secretB, token, {}],
      [secretA, token, { 'x-forwarded-host': 'b.example.com' }],
      [secretA, expired.token, {}],
      [secretA, withdrawn.token, {}],
    ] as const) {
      const response = await get(place(secret, requestedToken), headers);
      expect({ ...response, headers: comparable(response.headers) }).toEqual(expected);
    }
  });
});

describe('every other request gets the same 404', () => {
  it('the rule of tenant B never answers a challenge of tenant A, nor the other way round', async () => {
    const [ofA, ofB] = [await challenge(tenantA), await challenge(tenantB)];
    for (const path of [place(secretB, ofA.token), place(secretA, ofB.token)]) {
      const response = await get(path);
      expect({ ...response, headers: comparable(response.headers) }).toEqual(await nothing());
    }
  });

  it('unknown, malformed and unrelated requests', async () => {
    const { token } = await challenge();
    const expired = await challenge(tenantA, 'expired.example.com');
    await responder.database.query(`UPDATE http_challenge SET expires_at = now() WHERE token = $1`, [
      expired.token,
    ]);
    const expected = await nothing();
    for (const path of [
      place('c'.repeat(32), token),
      place('', token),
      `/.well-known/acme-challenge/${token}`,
      place(secretA, expired.token),
      place(secretA, random()),
      place(secretA, `${token}x`),
      place(secretA.toUpperCase(), token),
      place(secretA, '..'),
      place(secretA, '%2e%2e'),
      place(secretA, `..%2f${token}`),
      place(secretA, `x%2f..%2f${token}`),
      place(`${secretA}%2f`, token),
      place(secretA, `${token}%0a`),
      place(secretA, 'x'.repeat(900)),
      `/x/../${secretA}/.well-known/acme-challenge/${token}`,
      `/${secretA}/.well-known/acme-challenge/`,
      `/${secretA}/.well-known/acme-challenge/${token}/x`,
      `/${secretA}/.well-known/other/${token}`,
      '/',
    ]) {
      const response = await get(path);
      expect({ path, ...response, headers: comparable(response.headers) }).toEqual({ path, ...expected });
    }
  });

  it('X-Forwarded-Host has no effect without the secret, and only narrows with it', async () => {
    const { token } = await challenge();
    const expected = await nothing();
    for (const [secret, forwardedHost] of [
      [secretB, dnsName],
      ['c'.repeat(32), dnsName],
      [secretA, 'b.example.com'],
      [secretA, `b.example.com, ${dnsName}`],
      [secretA, `${dnsName}.evil.example`],
      [secretA, ''],
    ] as const) {
      const response = await get(place(secret, token), { 'x-forwarded-host': forwardedHost });
      expect({ ...response, headers: comparable(response.headers) }).toEqual(expected);
    }
  });
});

describe('client input never causes a 5xx', () => {
  it.each(['POST', 'PUT', 'DELETE', 'PATCH'])('%s is 405 with Allow', async (method) => {
    const { token } = await challenge();
    const response = await responder.call(method, place(secretA, token), {
      body: 'x',
      headers: { 'content-type': 'text/plain' },
    });
    expect(response.status).toBe(405);
    expect(response.headers['allow']).toBe('GET, HEAD, OPTIONS');
  });

  it.each([
    ['a part that is longer than any router takes', 'x'.repeat(2_000)],
    ['a target that is too long', 'x'.repeat(9_000)],
    ['a NUL', '%00'],
    ['a broken percent-encoding', '%zz'],
    ['bytes that are not UTF-8', '%ff%fe'],
  ])('%s: 400', async (...[, part]) => {
    expect((await get(place(secretA, part))).status).toBe(400);
    expect((await get(place(part, random()))).status).toBe(400);
  });
});

describe('the log', () => {
  it('contains routes, never secrets or tokens', async () => {
    const { token } = await challenge();
    await get(place(secretA, token));
    await get(place(secretB, token));
    const log = responder.logLines.join('\n');
    expect(log).toContain('/:secret/.well-known/acme-challenge/:token');
    expect(log).not.toContain(token);
    expect(log).not.toContain(secretA);
  });
});
