import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AcmeAccount, AcmeFault, AcmeServer } from './index';
import { newKey, openServer } from './testing/issuing';
import {
  altered,
  cutAfter,
  type Override,
  FakeAcmeServer,
  bytesOf,
  silence,
  withMembers,
} from './testing/fake-acme-server';

let server: FakeAcmeServer;
beforeAll(async () => void (server = await FakeAcmeServer.start()));
afterAll(async () => await server.stop());

const opened: AcmeServer[] = [];
afterEach(async () => {
  server.clearOverrides();
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

const now = new Date('2026-11-20T12:00:00Z');

function open(options: Parameters<typeof openServer>[1] = {}): AcmeServer {
  const one = openServer(server, { now: () => now, ...options });
  opened.push(one);
  return one;
}

const account = (options?: Parameters<typeof openServer>[1]): AcmeAccount =>
  open(options).account(newKey(), server.url('/account/1'));
const dnsNames = ['one.example.com'];
const secret = '<script>\u202Esecret\u0007';
const contentType = (type: string) =>
  altered(({ headers }) => ({ headers: { ...headers, 'content-type': type } }));
const withHeader = (name: string, value: string) =>
  altered(({ headers }) => ({ headers: { ...headers, [name]: value } }));
const without = (name: string) =>
  altered(({ headers }) => ({
    headers: Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name)),
  }));

async function faultOf(asking: Promise<unknown>): Promise<AcmeFault> {
  const fault = await asking.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(fault instanceof AcmeFault)) throw new Error(`no fault: ${String(fault)}`);
  expect(fault.message).not.toContain('secret');
  return fault;
}

describe('a response that violates ACME is not_acme', () => {
  it.each<[string, Override]>([
    ['HTML', altered({ headers: { 'content-type': 'text/html' }, body: `<html>${secret}` })],
    [
      'an error page',
      altered({ status: 502, headers: { 'content-type': 'text/html' }, body: `<html>${secret}` }),
    ],
    ['JSON under another type', contentType('text/plain')],
    ['JSON without a type', without('content-type')],
    ['truncated JSON', altered(({ body }) => ({ body: body.slice(0, -1) }))],
    ['an empty body', altered({ body: '' })],
    ['JSON that is no object', altered({ body: '["secret"]' })],
    ['null', altered({ body: 'null' })],
    ['no Location', without('location')],
    ['a status that there is not', withMembers({ status: secret })],
    ['no finalize', withMembers({ finalize: undefined })],
    ['authorizations that are no list', withMembers({ authorizations: { length: 1 } })],
    ['ten thousand authorizations', withMembers({ authorizations: Array(10_000).fill('') })],
    [
      'another name than requested',
      withMembers({ identifiers: [{ type: 'dns', value: 'two.example.com' }] }),
    ],
    ['an identifier that is no DNS name', withMembers({ identifiers: [{ type: 'ip', value: '192.0.2.1' }] })],
    ['a time that is none', withMembers({ expires: 'tomorrow' })],
    ['valid without a certificate', withMembers({ status: 'valid' })],
    ['a problem that is none', altered({ status: 400, body: `{"detail":"${'secret'}"}` })],
  ])('%s', async (_, override) => {
    server.override('/newOrder', override);
    expect((await faultOf(account().newOrder({ dnsNames }))).kind).toBe('not_acme');
  });

  it('an endless body', async () => {
    const endless: Override = (_, socket) => {
      const write = () => socket.writable && socket.write(`${'x'.repeat(1_000)}`, () => setImmediate(write));
      socket.write(
        'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n\r\n',
        write,
      );
      return null;
    };
    server.override('/newOrder', endless);
    const fault = await faultOf(account({ maxBytes: { json: 10_000, chain: 10 } }).newOrder({ dnsNames }));
    expect(fault).toMatchObject({ kind: 'not_acme', message: expect.stringContaining('too long') });
  });

  it('an endless header', async () => {
    const endless: Override = (_, socket) => {
      const write = () =>
        socket.writable && socket.write(`a: ${'x'.repeat(1_000)}\r\n`, () => setImmediate(write));
      socket.write('HTTP/1.1 200 OK\r\n', write);
      return null;
    };
    server.override('/newOrder', endless);
    expect((await faultOf(account().newOrder({ dnsNames }))).kind).toBe('not_acme');
  });

  it('a server that does not speak HTTP', async () => {
    server.override('/newOrder', (_, socket) => (socket.end(`220 mail ${secret}\r\n`), null));
    expect((await faultOf(account().newOrder({ dnsNames }))).kind).toBe('not_acme');
  });

  it('newNonce without a nonce', async () => {
    server.override('/newNonce', without('replay-nonce'));
    expect((await faultOf(account().newOrder({ dnsNames }))).message).toContain('without a Replay-Nonce');
    server.override('/newNonce', withHeader('replay-nonce', 'not base64url!'));
    expect((await faultOf(account().newOrder({ dnsNames }))).kind).toBe('not_acme');
  });

  it('not a success without a nonce: the next request fetches a nonce', async () => {
    server.override('/newOrder', without('replay-nonce'));
    const one = account();
    const { url } = await one.newOrder({ dnsNames });
    const before = server.requestCount('/newNonce');
    expect((await one.order(url)).status).toBe('ready');
    expect(server.requestCount('/newNonce')).toBe(before + 1);
  });
});

describe('a missing or incomplete response', () => {
  const bounds = { timeouts: { connectMs: 20_000, headersMs: 20_000, wholeMs: 150 } };

  it('is a timeout when the server is silent', async () => {
    server.override('/newOrder', silence);
    expect((await faultOf(account(bounds).newOrder({ dnsNames }))).kind).toBe('timeout');
  });

  it('is a timeout when it arrives too slowly', async () => {
    const drip: Override = (correct, socket) => {
      const bytes = bytesOf(correct);
      const write = (at: number) =>
        socket.writable && socket.write(bytes.subarray(at, at + 1), () => setTimeout(write, 10, at + 1));
      write(0);
      return null;
    };
    server.override('/newOrder', drip);
    expect((await faultOf(account(bounds).newOrder({ dnsNames }))).kind).toBe('timeout');
    const headersMs = 100;
    const slow = account({ timeouts: { connectMs: 20_000, headersMs, wholeMs: 20_000 } });
    expect((await faultOf(slow.newOrder({ dnsNames }))).kind).toBe('timeout');
  });

  it('is unreachable when the port is closed or the certificate is not trusted', async () => {
    const closed = openServer({ directoryUrl: 'https://localhost:1/directory', tlsRoot: server.tlsRoot });
    opened.push(closed);
    expect((await faultOf(closed.directory())).message).toContain('refuses connections');
    expect((await faultOf(open({ extraRoots: [] }).directory())).message).toContain('not trusted');
  });

  it('says that the TLS handshake failed when the server has no TLS, and nothing about its certificate', async () => {
    const plain = createServer((_, response) => response.end()).listen(0, '127.0.0.1');
    await once(plain, 'listening');
    const { port } = plain.address() as AddressInfo;
    const one = openServer({ directoryUrl: `https://localhost:${port}/directory`, tlsRoot: server.tlsRoot });
    opened.push(one);
    const { kind, message } = await faultOf(one.directory());
    expect({ kind, message }).toEqual({
      kind: 'unreachable',
      message: 'No response from the ACME server: the TLS handshake failed.',
    });
    plain.close();
  });

  it.each([
    ['with its length', true],
    ['without its length', false],
  ])(
    'is an error wherever the connection is cut (%s)',
    async (_, isDelimited) => {
      let length = 0;
      const probe = account();
      server.overrideOnce(
        '/newOrder',
        (correct) => ((length = bytesOf(correct, isDelimited).length), correct),
      );
      await probe.newOrder({ dnsNames });
      const kinds = new Set<string>();
      // In the status line, in each header, and in the body.
      for (let count = 0; count < length; count += 3) {
        server.overrideOnce('/newOrder', cutAfter(count, isDelimited));
        kinds.add((await faultOf(probe.newOrder({ dnsNames }))).kind);
      }
      expect([...kinds].sort()).toEqual(isDelimited ? ['unreachable'] : ['not_acme', 'unreachable']);
    },
    60_000,
  );
});

describe('problems', () => {
  const problem = (status: number, members: object, headers = {}): Override =>
    altered((correct) => ({
      status,
      headers: { ...correct.headers, 'content-type': 'application/problem+json', ...headers },
      body: JSON.stringify(members),
    }));
  const urn = 'urn:ietf:params:acme:error:';

  it('list the identifiers of their subproblems in printable text', async () => {
    const identifier = { type: 'dns', value: 'ONE.example.com' };
    const subproblems = [{ type: `${urn}caa`, detail: 'CAA\u0000for\u202Eit', identifier }];
    server.override(
      '/newOrder',
      problem(403, { type: `${urn}compound`, detail: 'x'.repeat(9_999), subproblems }),
    );
    const fault = await faultOf(account().newOrder({ dnsNames }));
    expect(fault).toMatchObject({ kind: 'problem', status: 403, problem: { type: 'compound', status: 403 } });
    expect(fault.problem?.subproblems).toMatchObject([
      { type: 'caa', detail: 'CAA for it', dnsName: 'one.example.com' },
    ]);
    expect(fault.message.length).toBeLessThan(1_100);
  });

  it.each([
    ['120', '2026-11-20T12:02:00.000Z'],
    ['Fri, 20 Nov 2026 13:00:00 GMT', '2026-11-20T13:00:00.000Z'],
    ['Fri, 20 Nov 2026 11:00:00 GMT', '2026-11-20T12:00:00.000Z'],
    ['99999999', '2026-11-27T12:00:00.000Z'],
    ['soon', null],
    ['-5', null],
    ['1e3', null],
    ['2026-11-20', null],
  ])('with Retry-After %j mean %s', async (retryAfter, at) => {
    server.override('/newOrder', problem(429, { type: `${urn}rateLimited` }, { 'retry-after': retryAfter }));
    const fault = await faultOf(account().newOrder({ dnsNames }));
    expect(fault.kind).toBe('rate_limited');
    expect(fault.retryAt?.toJSON() ?? null).toBe(at);
  });

  it('of an overloaded server are rate_limited, with and without a document', async () => {
    server.override('/newOrder', altered({ status: 503, headers: { 'retry-after': '60' }, body: '<html>' }));
    expect(await faultOf(account().newOrder({ dnsNames }))).toMatchObject({
      kind: 'rate_limited',
      problem: null,
    });
    server.override('/newOrder', altered({ status: 503, headers: {}, body: '<html>' }));
    expect((await faultOf(account().newOrder({ dnsNames }))).kind).toBe('not_acme');
  });

  it('include the account that already has a new key', async () => {
    const location = server.url('/account/2');
    server.override('/keyChange', problem(409, { type: `${urn}malformed` }, { location }));
    expect(await faultOf(account().changeKey(newKey()))).toMatchObject({
      kind: 'problem',
      status: 409,
      location,
    });
  });

  it('badNonce is retried with the nonce of that response, a limited number of times', async () => {
    const one = account();
    await one.read();
    const before = server.requestCount('/newNonce');
    server.override('/newOrder', problem(400, { type: `${urn}badNonce` }));
    const fault = await faultOf(one.newOrder({ dnsNames }));
    expect(fault).toMatchObject({ kind: 'problem', problem: { type: 'badNonce' } });
    expect(server.requestCount('/newNonce')).toBe(before);
    const short = account({ timeouts: { connectMs: 20_000, headersMs: 20_000, wholeMs: 300 } });
    expect((await faultOf(short.newOrder({ dnsNames }))).kind).toBe('timeout');
  }, 20_000);
});

describe('a problem document of another content type', () => {
  it.each(['text/plain; charset=utf-8', 'application/octet-stream'])('%s is read', async (type) => {
    const body = JSON.stringify({ type: 'urn:ietf:params:acme:error:badNonce' });
    const refused = altered(({ headers }) => ({
      status: 400,
      headers: { ...headers, 'content-type': type },
      body,
    }));
    server.overrideOnce('/newOrder', refused);
    expect((await account().newOrder({ dnsNames })).status).toBe('ready');
  });
});

describe('a directory', () => {
  it('is read once an hour', async () => {
    let at = now;
    const one = open({ now: () => at });
    const before = server.requestCount('/directory');
    await Promise.all([one.directory(), one.directory()]);
    at = new Date(now.getTime() + 59 * 60_000);
    await one.directory();
    expect(server.requestCount('/directory')).toBe(before + 1);
    at = new Date(now.getTime() + 60 * 60_000);
    await one.directory();
    expect(server.requestCount('/directory')).toBe(before + 2);
  });

  it('is read again when one of its URLs is gone, and the request is retried', async () => {
    const one = account();
    await one.newOrder({ dnsNames });
    const gone = altered({ status: 404, headers: { 'content-type': 'text/html' }, body: '<html>' });
    server.override('/newOrder', gone);
    expect((await faultOf(one.newOrder({ dnsNames }))).kind).toBe('not_acme');
    server.override('/directory', withMembers({ newOrder: server.url('/newOrder?v2') }));
    server.override('/newOrder?v2', (correct) => correct);
    server.orders.answer = (
      (answer) => (request) =>
        answer({ ...request, path: request.path.replace('?v2', '') })
    )(server.orders.answer.bind(server.orders));
    expect((await one.newOrder({ dnsNames })).status).toBe('ready');
  });
});

describe('a response that RFC 8555 permits', () => {
  it.each<[string, unknown]>([
    ['a short token', { type: 'odd-01', status: 'pending', url: 'https://ca.example/c', token: 'short' }],
    ['no URL', { type: 'odd-01', status: 'pending' }],
    ['a URL on another host', { type: 'odd-01', status: 'pending', url: 'https://other.example/c' }],
    ['an unknown status', { type: 'odd-01', status: 'on-hold', url: 'https://ca.example/c' }],
    ['a member that is no text', { type: 'odd-01', status: 'pending', token: { of: 'another kind' } }],
  ])('has a challenge of an unknown type with %s, which is ignored', async (_, odd) => {
    const known = {
      ...{ type: 'dns-01', status: 'pending', token: 'a'.repeat(22) },
      url: server.url('/challenge/0'),
    };
    server.override('/authorization/0', withMembers({ challenges: [odd, known] }));
    const { challenges } = await account().authorization(server.url('/authorization/0'));
    expect(challenges).toMatchObject([{ type: 'dns-01', url: server.url('/challenge/0') }]);
    server.override('/authorization/0', withMembers({ challenges: [{ ...known, token: 'short' }] }));
    const fault = await faultOf(account().authorization(server.url('/authorization/0')));
    expect(fault.kind).toBe('not_acme');
  });

  it('has a relative Location, which refers to the URL of the request (RFC 9110, section 10.2.2)', async () => {
    const number = server.orders.orders.length;
    server.override('/newOrder', withHeader('location', `/order/${number}`));
    expect((await account().newOrder({ dnsNames })).url).toBe(server.url(`/order/${number}`));
    server.override('/newAccount', withHeader('location', 'account/7'));
    const found = await open().newAccount(newKey(), { contacts: [], termsOfServiceAgreed: true });
    expect(found.url).toBe(server.url('/account/7'));
    server.override('/newAccount', withHeader('location', '//other.example/account/7'));
    const fault = await faultOf(open().newAccount(newKey(), { contacts: [], termsOfServiceAgreed: true }));
    expect(fault.kind).toBe('refused_url');
  });

  it('refuses finalize of an order that it has finalized: the order is read', async () => {
    const problem = (type: string) =>
      altered(({ headers }) => ({
        status: 400,
        headers: { ...headers, 'content-type': 'application/problem+json' },
        body: JSON.stringify({ type: `urn:ietf:params:acme:error:${type}`, detail: 'finalized before' }),
      }));
    const ours = account();
    const order = await ours.newOrder({ dnsNames });
    const number = order.url.split('/').at(-1);
    server.override(`/finalize/${number}`, problem('malformed'));
    expect((await ours.finalize(order, Buffer.of(1))).status).toBe('valid');
    // Not finalized: the refusal counts.
    server.override(`/order/${number}`, withMembers({ status: 'ready' }));
    server.override(`/finalize/${number}`, problem('badCSR'));
    expect((await faultOf(ours.finalize(order, Buffer.of(1)))).problem?.type).toBe('badCSR');
    // Nor when the order cannot be read.
    server.override(`/order/${number}`, problem('unauthorized'));
    expect((await faultOf(ours.finalize(order, Buffer.of(1)))).problem?.type).toBe('badCSR');
  });
});
