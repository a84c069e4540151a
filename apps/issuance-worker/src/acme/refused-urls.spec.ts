import { guardedLookup } from './connection/guarded-lookup';
import { type AcmeAccount, AcmeServer } from './index';
import { makeCsr } from './testing/csr';
import { newKey, openServer } from './testing/issuing';
import { altered, FakeAcmeServer, withMembers } from './testing/fake-acme-server';

let server: FakeAcmeServer;
let elsewhere: FakeAcmeServer;
beforeAll(async () => {
  [server, elsewhere] = [await FakeAcmeServer.start(), await FakeAcmeServer.start()];
});
afterAll(async () => await Promise.all([server.stop(), elsewhere.stop()]));

const opened: AcmeServer[] = [];
afterEach(async () => {
  server.clearOverrides();
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

/** Trusts the roots of both, so that only the policy blocks the other server. */
function open(options: Parameters<typeof openServer>[1] = {}): AcmeServer {
  const one = openServer(server, options);
  opened.push(one);
  return one;
}

const account = (options?: Parameters<typeof openServer>[1]): AcmeAccount =>
  open(options).account(newKey(), server.url('/account/1'));
const dnsNames = ['one.example.com'];
const refused = expect.objectContaining({ kind: 'refused_url' });

async function expectRefused(asking: Promise<unknown>): Promise<void> {
  await expect(asking).rejects.toEqual(refused);
  expect(elsewhere.connections).toBe(0);
}

it.each(['newNonce', 'newAccount', 'newOrder', 'revokeCert', 'keyChange', 'renewalInfo'])(
  'refuses a directory whose %s is on another host',
  async (name) => {
    server.override('/directory', withMembers({ [name]: elsewhere.url(`/${name}`) }));
    await expectRefused(open().directory());
  },
);

it.each([
  ['http', () => server.url('/newOrder').replace('https:', 'http:')],
  ['a user and a password', () => server.url('/newOrder').replace('//', '//user:secret@')],
  ['another port', () => 'https://localhost/newOrder'],
  ['the same address under another name', () => server.url('/newOrder').replace('localhost', '127.0.0.1')],
  ['a reference that is relative', () => '/newOrder'],
  ['a URL of 3,000 characters', () => server.url(`/${'a'.repeat(3_000)}`)],
])('refuses %s', async (_, url) => {
  server.override('/directory', withMembers({ newOrder: url() }));
  await expectRefused(open().directory());
});

it('refuses a Location of an account or order on another host', async () => {
  const location = elsewhere.url('/order/0');
  const moved = altered(({ headers }) => ({ headers: { ...headers, location } }));
  server.override('/newAccount', moved).override('/newOrder', moved);
  await expectRefused(open().newAccount(newKey(), { contacts: [], termsOfServiceAgreed: true }));
  await expectRefused(account().newOrder({ dnsNames }));
});

it('refuses an order with authorization, finalize or certificate URLs on another host', async () => {
  for (const members of [
    { authorizations: [elsewhere.url('/authorization/0')] },
    { finalize: elsewhere.url('/finalize/0') },
    { status: 'valid', certificate: elsewhere.url('/certificate/0') },
  ]) {
    server.override('/newOrder', withMembers(members));
    await expectRefused(account().newOrder({ dnsNames }));
  }
});

it('refuses a challenge URL on another host', async () => {
  const url = elsewhere.url('/challenge/0');
  const challenges = [{ type: 'dns-01', status: 'pending', token: 'a'.repeat(22), url }];
  server.override('/authorization/0', withMembers({ challenges }));
  await expectRefused(account().authorization(server.url('/authorization/0')));
});

it('ignores an alternate chain on another host, and keeps the certificate', async () => {
  const link = `<${elsewhere.url('/certificate/1')}>;rel="alternate", </certificate/2>;rel="alternate"`;
  server.override(
    '/certificate/0',
    altered(({ headers }) => ({ headers: { ...headers, link } })),
  );
  const { alternateUrls } = await account().certificate(server.url('/certificate/0'));
  expect(alternateUrls).toEqual([server.url('/certificate/2')]);
  expect(elsewhere.connections).toBe(0);
});

it('refuses stored URLs of another server before connecting', async () => {
  expect(() => open().account(newKey(), elsewhere.url('/account/1'))).toThrow(refused as Error);
  await expectRefused(account().order(elsewhere.url('/order/0')));
  const order = { url: server.url('/order/0'), finalizeUrl: elsewhere.url('/finalize/0') };
  await expectRefused(account().finalize(order, makeCsr(dnsNames).csr));
});

it('follows no redirect of a signed request, not even to the same host', async () => {
  const location = server.url('/order/0');
  server.override('/newOrder', () => ({ status: 307, headers: { location }, body: '' }));
  await expectRefused(account().newOrder({ dnsNames }));
});

it('follows one redirect of the directory, but not a second one or one to another host', async () => {
  const redirect = (location: string) => () => ({ status: 302, headers: { location }, body: '' });
  server.override('/directory', redirect('/directory-v2'));
  expect((await open().directory()).newOrder).toBe(server.url('/newOrder'));
  server.override('/directory-v2', redirect('/directory-v3'));
  await expectRefused(open().directory());
  server.override('/directory', redirect(elsewhere.directoryUrl));
  await expectRefused(open().directory());
});

it('allows directory URLs on a host of the allowed list', async () => {
  server.override('/directory', withMembers({ revokeCert: elsewhere.url('/revokeCert') }));
  const one = open({ allowedHosts: [elsewhere.host] });
  expect((await one.directory()).revokeCert).toBe(elsewhere.url('/revokeCert'));
});

it.each(['http://ca.example.com/directory', 'ca.example.com', 'https://u:p@ca.example.com/', ''])(
  'does not open the directory %s',
  (directoryUrl) => expect(() => openServer({ directoryUrl, tlsRoot: '' })).toThrow(refused as Error),
);

it.each(['https://ca.example.com', 'ca.example.com/x', 'a b', ''])('rejects the allowed host %j', (host) => {
  expect(() => open({ allowedHosts: [host] })).toThrow(refused as Error);
});

describe('addresses', () => {
  const lookUp = async (directoryHost: string, hostname: string) =>
    await new Promise<unknown>((resolve) => {
      guardedLookup(directoryHost)(hostname, {}, (error, addresses) => resolve(error ?? addresses));
    });

  it('allows private addresses of an allowed host only if the directory is private', async () => {
    expect(await lookUp('1.1.1.1', 'localhost')).toBeInstanceOf(Error);
    expect(await lookUp('127.0.0.1', 'localhost')).toEqual(expect.arrayContaining([]));
    expect(await lookUp('localhost', 'localhost')).toEqual(expect.arrayContaining([]));
  });
});
