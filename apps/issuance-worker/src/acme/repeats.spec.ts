import { type AcmeAccount, AcmeFault, type AcmeServer, isPassing } from './index';
import { newKey, openServer } from './testing/issuing';
import { but, cutAfter, type Lie, LyingServer } from './testing/lying-server';

const repeats = { max: 3, firstPauseMs: 1, maxPauseMs: 1_000 };
const dnsNames = ['one.example.com'];

let lying: LyingServer;
let server: AcmeServer;
let account: AcmeAccount;
beforeAll(async () => void (lying = await LyingServer.start()));
afterAll(async () => await lying.stop());
beforeEach(() => {
  server = openServer(lying, { repeats });
  account = server.account(newKey(), lying.url('/account/1'));
  lying.requests.length = 0;
});
afterEach(async () => {
  lying.tellTheTruth();
  await server.close();
});

const overloaded = (headers: Record<string, string> = {}): Lie =>
  but({ status: 503, headers: { 'content-type': 'text/html', ...headers }, body: 'busy' });

/** Sends false responses `count` times, then correct ones. */
function first(count: number, lie: Lie): Lie {
  let told = 0;
  return (truth, socket) => ((told += 1) <= count ? lie(truth, socket) : truth);
}

async function order(): Promise<string> {
  const { url } = await account.newOrder({ dnsNames });
  lying.requests.length = 0;
  return url;
}

describe('an idempotent request', () => {
  it.each<[string, Lie]>([
    ['503', overloaded()],
    ['a connection that is cut', cutAfter(10)],
  ])('is repeated after %s', async (_, lie) => {
    const url = await order();
    lying.lie(new URL(url).pathname, first(3, lie));
    expect((await account.order(url)).status).toBe('ready');
    expect(lying.asked(new URL(url).pathname)).toBe(4);
  });

  it('is retried at most three times', async () => {
    const url = await order();
    lying.lie(new URL(url).pathname, overloaded());
    await expect(account.order(url)).rejects.toThrow('503');
    expect(lying.asked(new URL(url).pathname)).toBe(4);
  });

  it('is not retried when Retry-After exceeds the time of an operation', async () => {
    const url = await order();
    lying.lie(new URL(url).pathname, overloaded({ 'retry-after': '60' }));
    await expect(account.order(url)).rejects.toMatchObject({ kind: 'rate_limited', status: 503 });
    expect(lying.asked(new URL(url).pathname)).toBe(1);
  });

  it('is not retried after a refusal', async () => {
    const url = await order();
    lying.lie(new URL(url).pathname, but({ status: 429 }));
    await expect(account.order(url)).rejects.toMatchObject({ kind: 'rate_limited', status: 429 });
    expect(lying.asked(new URL(url).pathname)).toBe(1);
  });

  it('includes the directory and nonce requests before another request', async () => {
    lying.lie('/directory', first(2, overloaded())).lie('/newNonce', first(2, overloaded()));
    await account.newOrder({ dnsNames });
    expect([lying.asked('/directory'), lying.asked('/newNonce'), lying.asked('/newOrder')]).toEqual([
      3, 3, 1,
    ]);
  });
});

describe('a request that is not idempotent', () => {
  it.each<[string, (url: string) => Promise<unknown>]>([
    ['/newOrder', async () => await account.newOrder({ dnsNames })],
    [
      '/finalize/0',
      async (url) => await account.finalize({ url, finalizeUrl: lying.url('/finalize/0') }, Buffer.of(1)),
    ],
    ['/challenge/0', async () => await account.respond(lying.url('/challenge/0'))],
  ])('%s is not retried', async (path, ask) => {
    const url = await order();
    lying.lie(path, overloaded());
    await expect(ask(url)).rejects.toThrow('503');
    expect(lying.asked(path)).toBe(1);
  });
});

it('the error shows whether the request was sent', async () => {
  lying.lie('/newNonce', overloaded());
  await expect(account.newOrder({ dnsNames })).rejects.toMatchObject({ neverSent: true });
  lying.tellTheTruth();
  lying.lie('/newOrder', cutAfter(0));
  await expect(account.newOrder({ dnsNames })).rejects.toMatchObject({ neverSent: false });
});

describe('a probe', () => {
  it('is one request: first the directory, later a nonce', async () => {
    await server.probe();
    await server.probe();
    expect(lying.requests.map(({ path }) => path)).toEqual(['/directory', '/newNonce']);
  });

  it('is not retried', async () => {
    lying.lie('/directory', overloaded());
    await expect(server.probe()).rejects.toThrow('503');
    expect(lying.requests).toHaveLength(1);
  });
});

it.each<[string, AcmeFault, boolean]>([
  ['no answer', new AcmeFault('unreachable', ''), true],
  ['silence', new AcmeFault('timeout', ''), true],
  ['overload', new AcmeFault('rate_limited', '', { status: 503 }), true],
  ['a quota', new AcmeFault('rate_limited', '', { status: 429 }), false],
  ['a page that is not found', new AcmeFault('not_acme', '', { status: 404 }), false],
  ['what is too long', new AcmeFault('not_acme', '', { lasting: true }), false],
  ['a URL that is not followed', new AcmeFault('refused_url', ''), false],
])('whether %s is transient', (_, fault, expected) => expect(isPassing(fault)).toBe(expected));
