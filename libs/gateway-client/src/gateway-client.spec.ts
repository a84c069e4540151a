import { inspect } from 'node:util';
import type { Credentials, IntegrationOwner, SealedCredentials } from '@certwright/gateway-contract';
import { freePort, TestRoot } from '@certwright/testing';
import { GatewayClient } from './gateway-client';
import { GatewayFault } from './gateway-fault';
import { cuts, says, TlsServer } from './testing/tls-server';

const owner: IntegrationOwner = { account: '7', integration_id: 'i1', provider: 'desec' };
const opened = { ...owner, integration: 'h1.opaque' };
const record = { fqdn: '_acme-challenge.example.com', type: 'CNAME', value: 'x.example.net' } as const;
const identity = 'spiffe://certwright.internal/orders-v3';

let ca: TestRoot;
let server: TlsServer;
let client: GatewayClient;
beforeAll(async () => {
  ca = new TestRoot();
  server = await TlsServer.open(ca.certify({ names: 'DNS:localhost' }), ca.pem);
  client = connect();
});
afterAll(async () => {
  client.close();
  await server.close();
  ca.dispose();
});

function connect({
  host = 'localhost',
  port = server.port,
  trusted = ca,
  own = ca,
  timeoutMs = 20_000,
} = {}) {
  const url = `https://${host}:${port}`;
  return new GatewayClient({ url, ca: trusted.pem, ...own.certify({ names: `URI:${identity}` }), timeoutMs });
}

async function faultOf(asking: Promise<unknown>): Promise<GatewayFault> {
  const outcome: unknown = await asking.catch((error: unknown) => error);
  if (outcome instanceof GatewayFault) return outcome;
  throw new Error(`no fault but ${String(outcome)}`);
}

it('has a renewed certificate without being opened again', async () => {
  const stranger = new TestRoot();
  const renewed = connect({ own: stranger });
  await expect(renewed.getZones(opened)).rejects.toMatchObject({ code: 'unreachable' });
  renewed.renew({ ca: ca.pem, ...ca.certify({ names: `URI:${identity}` }) });
  server.willReply(says(200, { zones: [] }));
  expect(await renewed.getZones(opened)).toEqual({ zones: [] });
  server.received.length = 0;
  renewed.close();
  stranger.dispose();
});

describe('a message', () => {
  it('goes out as the contract says, over mutual TLS, and brings the answer', async () => {
    server.willReply(
      says(200, { integration: 'h1' }),
      says(200, { zones: [{ id: 'z', name: 'example.com', more: 1 }] }),
      says(200, { record_handle: 'r1', integration: 'h2' }),
      says(200, {}),
    );
    const credentials = { type: 'bearer', token: 't' } as const;
    expect(await client.makeIntegration({ ...owner, credentials })).toEqual({ integration: 'h1' });
    expect(await client.getZones(opened)).toEqual({ zones: [{ id: 'z', name: 'example.com' }] });
    expect(await client.addRecord({ ...opened, record })).toEqual({ record_handle: 'r1', integration: 'h2' });
    expect(await client.removeRecord({ ...opened, record_handle: 'r1' })).toEqual({});

    expect(server.received.map(({ method, url, body }) => ({ method, url, body }))).toEqual([
      { method: 'POST', url: '/make_integration', body: { ...owner, credentials } },
      { method: 'POST', url: '/get_zones', body: opened },
      { method: 'POST', url: '/add_record', body: { ...opened, record } },
      { method: 'POST', url: '/remove_record', body: { ...opened, record_handle: 'r1' } },
    ]);
    expect(new Set(server.received.map((each) => each.identity))).toEqual(new Set([`URI:${identity}`]));
    // Connections are kept.
    expect(new Set(server.received.map(({ connection }) => connection)).size).toBe(1);
  });

  it('fetches the description of one account, without members that only a newer gateway knows', async () => {
    const token = { name: 'token', meaning: 'An API token', secret: true, required: true };
    const kind = {
      type: 'bearer',
      members: [token],
      authorization_url: null,
      principal: null,
      external_id: null,
    };
    const desec = { name: 'desec', title: 'deSEC', advice: 'A scoped token', credentials: [kind] };
    const newer = { ...desec, name: 'newer' };
    const encryption_key = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' };
    server.willReply(says(200, { encryption_key, providers: [desec, newer], more: true }));
    expect(await client.describe('7&a')).toEqual({ encryption_key, providers: [desec] });
    expect(server.received[0]).toMatchObject({ method: 'GET', url: '/description?account=7%26a' });
    server.willReply(says(200, { encryption_key, providers: [{ ...desec, advice: 7 }] }));
    expect((await faultOf(client.describe('7'))).code).toBe('unreachable');
  });
});

describe('an error', () => {
  it('has code, sentence, field, sub-errors and patience', async () => {
    const fault = { field: 'credentials.token', code: 'missing_field', message: 'It is needed.' };
    const error = { code: 'bad_request', message: 'See there.', field: 'credentials', sub_errors: [fault] };
    server.willReply(says(400, error, { 'retry-after': '17' }));
    const { code, message, field, faults, retryAfterS, integration } = await faultOf(client.getZones(opened));
    expect({ code, message, field, faults, retryAfterS, integration }).toEqual({
      code: 'bad_request',
      message: 'See there.',
      field: 'credentials',
      faults: [fault],
      retryAfterS: 17,
      integration: undefined,
    });
  });

  /** Does not occur in paths of a stack trace. */
  const resealedHandle = 'cwi1.resealed~handle';
  const resealed: readonly [string, number, object][] = [
    ['an error as documented', 502, { code: 'provider_auth_failed', message: 'It refuses.' }],
    ['an error of an unknown code', 418, { code: 'teapot', message: 'Short and stout.' }],
    ['an error without anything else', 500, {}],
    ['an answer that lacks what was asked for', 200, { zones: 'many' }],
  ];
  it.each(resealed)('keeps the new handle that came with %s', async (_what, status, body) => {
    server.willReply(says(status, { ...body, integration: resealedHandle }));
    const fault = await faultOf(client.getZones(opened));
    expect(fault.integration).toBe(resealedHandle);
    // A log of the error does not contain the handle.
    expect(inspect(fault) + JSON.stringify(fault)).not.toContain(resealedHandle);
  });

  it('is fit to be stored and shown, whatever the provider said', async () => {
    server.willReply(says(502, { code: 'provider_rejected', message: `a\u0000b\ud800${'c'.repeat(2_000)}` }));
    const { message } = await faultOf(client.getZones(opened));
    expect(message).toMatch(/^a b\ufffdc+$/);
    expect(message).toHaveLength(1_000);
  });
});

const strange: readonly [string, ReturnType<typeof says>][] = [
  ['HTML', says(200, '<html>', { 'content-type': 'text/html' })],
  ['truncated JSON', says(200, '{"zones": [')],
  ['a list', says(200, [])],
  ['a redirect', says(302, {}, { location: 'https://localhost/elsewhere' })],
  ['201', says(201, { zones: [] })],
  ['a zone with a capital', says(200, { zones: [{ id: '1', name: 'Example.com' }] })],
  ['a zone with a final dot', says(200, { zones: [{ id: '1', name: 'example.com.' }] })],
  ['a zone whose id holds NUL', says(200, { zones: [{ id: '\u0000', name: 'example.com' }] })],
  ['a handle that is a number', says(200, { zones: [], integration: 7 })],
  ['a handle with a space', says(200, { zones: [], integration: 'a b' })],
  ['more than a mebibyte', says(200, `{"zones": [], "x": "${'x'.repeat(1_048_577)}"}`)],
];
it.each(strange)('takes %s for no answer', async (_what, reply) => {
  server.willReply(reply);
  expect((await faultOf(client.getZones(opened))).code).toBe('unreachable');
  expect(server.received).toHaveLength(1);
});

describe('a connection that is cut', () => {
  it('has the message repeated once', async () => {
    server.willReply(cuts, says(200, { zones: [] }));
    expect(await client.getZones(opened)).toEqual({ zones: [] });
    server.willReply(cuts, cuts, says(200, { zones: [] }));
    expect(await faultOf(client.getZones(opened))).toMatchObject({
      code: 'unreachable',
      message: 'The DNS gateway cannot be reached (ECONNRESET).',
    });
    expect(server.received).toHaveLength(2);
  });

  const kinds: readonly [string, Credentials | SealedCredentials, number][] = [
    ['a token', { type: 'bearer', token: 't' }, 2],
    ['an account', { type: 'cloud_account', role: 'r' }, 2],
    ['an OAuth code', { type: 'oauth_code', code: 'c' }, 1],
    ['something sealed, which may be an OAuth code', { type: 'sealed', jwe: 'a.b.c.d.e' }, 1],
  ];
  it.each(kinds)('with %s', async (_what, credentials, times) => {
    server.willReply(cuts, says(200, { integration: 'h1' }));
    await client.makeIntegration({ ...owner, credentials }).catch(() => undefined);
    expect(server.received).toHaveLength(times);
  });

  it('has an OAuth code sent on a connection of its own, which no server is just closing', async () => {
    server.willReply(says(200, { zones: [] }), says(200, { integration: 'h1' }));
    await client.getZones(opened);
    await client.makeIntegration({ ...owner, credentials: { type: 'oauth_code', code: 'c' } });
    const [first, second] = server.received;
    expect(second?.connection).not.toBe(first?.connection);
  });
});

describe('a request beyond the rate of this client, which all accounts share', () => {
  const beyond = says(429, { code: 'rate_limited', message: 'Too many.' }, { 'retry-after': '1' });

  it('is sent again when the gateway accepts requests, and fails nothing', async () => {
    server.willReply(beyond, says(200, { record_handle: 'r1' }));
    expect(await client.addRecord({ ...opened, record })).toEqual({ record_handle: 'r1' });
    server.willReply(beyond, says(200, { integration: 'h1' }));
    await client.makeIntegration({ ...owner, credentials: { type: 'oauth_code', code: 'c' } });
    server.willReply(beyond, says(200, { encryption_key: { kty: 'EC' }, providers: [] }));
    expect(await client.describe(owner.account)).toMatchObject({ providers: [] });
    expect(server.received).toHaveLength(2);
  });

  it('is reported when its time would be over before', async () => {
    const line = connect({ timeoutMs: 300 });
    server.willReply(beyond);
    expect(await faultOf(line.getZones(opened))).toMatchObject({ code: 'rate_limited', retryAfterS: 1 });
    line.close();
  });
});

describe('the gateway is not reached', () => {
  const asking = async (line: GatewayClient): Promise<GatewayFault> => {
    server.willReply(says(200, { zones: [] }));
    try {
      return await faultOf(line.getZones(opened));
    } finally {
      line.close();
    }
  };

  it('when the gateway is not listening', async () => {
    const fault = await asking(connect({ port: await freePort() }));
    expect(fault).toMatchObject({ code: 'unreachable', message: expect.stringContaining('ECONNREFUSED') });
  });

  it('when its certificate is for another name', async () => {
    const fault = await asking(connect({ host: '127.0.0.1' }));
    expect(fault.message).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(server.received).toHaveLength(0);
  });

  it('when another CA made its certificate, or ours', async () => {
    const other = new TestRoot();
    expect((await asking(connect({ trusted: other }))).code).toBe('unreachable');
    expect((await asking(connect({ own: other }))).code).toBe('unreachable');
    expect(server.received).toHaveLength(0);
    other.dispose();
  });

  it('when it does not answer in time, the repetition included', async () => {
    const line = connect({ timeoutMs: 300 });
    server.willReply(cuts, () => undefined);
    const fault = await faultOf(line.getZones(opened));
    expect(fault.message).toBe('The DNS gateway did not answer in time.');
    line.close();
  });

  it('without TLS', () => {
    const own = ca.certify({ names: 'DNS:x.example.com' });
    const plain = { url: 'http://localhost:1', ca: ca.pem, ...own };
    expect(() => new GatewayClient(plain)).toThrow('https://');
  });
});
