import { type AcmeAccount, AcmeFault, type AcmeServer, isPassing } from './index';
import { newKey, openServer } from './testing/issuing';
import { altered, cutAfter, type Override, FakeAcmeServer } from './testing/fake-acme-server';

const repeats = { max: 3, firstPauseMs: 1, maxPauseMs: 1_000 };
const dnsNames = ['one.example.com'];

let fakeCa: FakeAcmeServer;
let server: AcmeServer;
let account: AcmeAccount;
beforeAll(async () => void (fakeCa = await FakeAcmeServer.start()));
afterAll(async () => await fakeCa.stop());
beforeEach(() => {
  server = openServer(fakeCa, { repeats });
  account = server.account(newKey(), fakeCa.url('/account/1'));
  fakeCa.requests.length = 0;
});
afterEach(async () => {
  fakeCa.clearOverrides();
  await server.close();
});

const overloaded = (headers: Record<string, string> = {}): Override =>
  altered({ status: 503, headers: { 'content-type': 'text/html', ...headers }, body: 'busy' });

/** Sends false responses `count` times, then correct ones. */
function first(count: number, override: Override): Override {
  let sent = 0;
  return (correct, socket) => ((sent += 1) <= count ? override(correct, socket) : correct);
}

async function order(): Promise<string> {
  const { url } = await account.newOrder({ dnsNames });
  fakeCa.requests.length = 0;
  return url;
}

describe('an idempotent request', () => {
  it.each<[string, Override]>([
    ['503', overloaded()],
    ['a connection that is cut', cutAfter(10)],
  ])('is repeated after %s', async (_, override) => {
    const url = await order();
    fakeCa.override(new URL(url).pathname, first(3, override));
    expect((await account.order(url)).status).toBe('ready');
    expect(fakeCa.requestCount(new URL(url).pathname)).toBe(4);
  });

  it('is retried at most three times', async () => {
    const url = await order();
    fakeCa.override(new URL(url).pathname, overloaded());
    await expect(account.order(url)).rejects.toThrow('503');
    expect(fakeCa.requestCount(new URL(url).pathname)).toBe(4);
  });

  it('is not retried when Retry-After exceeds the time of an operation', async () => {
    const url = await order();
    fakeCa.override(new URL(url).pathname, overloaded({ 'retry-after': '60' }));
    await expect(account.order(url)).rejects.toMatchObject({ kind: 'rate_limited', status: 503 });
    expect(fakeCa.requestCount(new URL(url).pathname)).toBe(1);
  });

  it('is not retried after a refusal', async () => {
    const url = await order();
    fakeCa.override(new URL(url).pathname, altered({ status: 429 }));
    await expect(account.order(url)).rejects.toMatchObject({ kind: 'rate_limited', status: 429 });
    expect(fakeCa.requestCount(new URL(url).pathname)).toBe(1);
  });

  it('includes the directory and nonce requests before another request', async () => {
    fakeCa.override('/directory', first(2, overloaded())).override('/newNonce', first(2, overloaded()));
    await account.newOrder({ dnsNames });
    expect([
      fakeCa.requestCount('/directory'),
      fakeCa.requestCount('/newNonce'),
      fakeCa.requestCount('/newOrder'),
    ]).toEqual([3, 3, 1]);
  });
});

describe('a request that is not idempotent', () => {
  it.each<[string, (url: string) => Promise<unknown>]>([
    ['/newOrder', async () => await account.newOrder({ dnsNames })],
    [
      '/finalize/0',
      async (url) => await account.finalize({ url, finalizeUrl: fakeCa.url('/finalize/0') }, Buffer.of(1)),
    ],
    ['/challenge/0', async () => await account.respond(fakeCa.url('/challenge/0'))],
  ])('%s is not retried', async (path, ask) => {
    const url = await order();
    fakeCa.override(path, overloaded());
    await expect(ask(url)).rejects.toThrow('503');
    expect(fakeCa.requestCount(path)).toBe(1);
  });
});

it('the error shows whether the request was sent', async () => {
  fakeCa.override('/newNonce', overloaded());
  await expect(account.newOrder({ dnsNames })).rejects.toMatchObject({ neverSent: true });
  fakeCa.clearOverrides();
  fakeCa.override('/newOrder', cutAfter(0));
  await expect(account.newOrder({ dnsNames })).rejects.toMatchObject({ neverSent: false });
});

describe('a probe', () => {
  it('is one request: first the directory, later a nonce', async () => {
    await server.probe();
    await server.probe();
    expect(fakeCa.requests.map(({ path }) => path)).toEqual(['/directory', '/newNonce']);
  });

  it('is not retried', async () => {
    fakeCa.override('/directory', overloaded());
    await expect(server.probe()).rejects.toThrow('503');
    expect(fakeCa.requests).toHaveLength(1);
  });
});

it.each<[string, AcmeFault, boolean]>([
  ['no response', new AcmeFault('unreachable', ''), true],
  ['silence', new AcmeFault('timeout', ''), true],
  ['overload', new AcmeFault('rate_limited', '', { status: 503 }), true],
  ['a quota', new AcmeFault('rate_limited', '', { status: 429 }), false],
  ['a page that is not found', new AcmeFault('not_acme', '', { status: 404 }), false],
  ['what is too long', new AcmeFault('not_acme', '', { lasting: true }), false],
  ['a URL that is not followed', new AcmeFault('refused_url', ''), false],
])('whether %s is transient', (_, fault, expected) => expect(isPassing(fault)).toBe(expected));
