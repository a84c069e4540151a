import { type AcmeAccount, AcmeFault, type AcmeServer } from './index';
import { makeCsr } from './testing/csr';
import { drive, newKey, openServer } from './testing/issuing';
import { altered, cutAfter, FakeAcmeServer, bytesOf, withMembers } from './testing/fake-acme-server';

let server: FakeAcmeServer;
let client: AcmeServer;
let account: AcmeAccount;
beforeAll(async () => {
  server = await FakeAcmeServer.start();
  client = openServer(server);
  account = client.account(newKey(), server.url('/account/1'));
});
afterAll(async () => {
  await client.close();
  await server.stop();
});
afterEach(() => server.clearOverrides());

const dnsNames = ['one.example.com'];
const { csr } = makeCsr(dnsNames);
const publish = async () => undefined;
const lost = cutAfter(0);
const isUnreachable = expect.objectContaining({ kind: 'unreachable' });

it('newOrder carried out but its response lost: the next one leads to one certificate', async () => {
  const before = server.orders.orders.length;
  server.overrideOnce('/newOrder', lost);
  await expect(account.newOrder({ dnsNames })).rejects.toEqual(isUnreachable);
  expect(server.orders.orders).toHaveLength(before + 1);
  const { url } = await account.newOrder({ dnsNames });
  expect((await drive(url, { account, csr, publish })).kind).toBe('issued');
  const finalizations = server.orders.orders.slice(before).map((order) => order.finalizations);
  expect(finalizations).toEqual([0, 1]);
});

it('finalize carried out but its response lost: the order is resumed from its URL', async () => {
  const { url } = await account.newOrder({ dnsNames });
  const number = url.split('/').at(-1);
  server.overrideOnce(`/finalize/${number}`, lost);
  await expect(drive(url, { account, csr, publish })).rejects.toEqual(isUnreachable);
  expect((await drive(url, { account, csr, publish })).kind).toBe('issued');
  expect(server.orders.orders[Number(number)]?.finalizations).toBe(1);
});

it('finalize not carried out: it is requested again', async () => {
  const order = await account.newOrder({ dnsNames });
  const number = Number(order.url.split('/').at(-1));
  const stored = server.orders.orders[number] as { status: string; finalizations: number };
  server.overrideOnce(`/finalize/${number}`, (correct, socket) => {
    Object.assign(stored, { status: 'ready', finalizations: 0 });
    return lost(correct, socket);
  });
  await expect(account.finalize(order, csr)).rejects.toEqual(isUnreachable);
  expect((await drive(order.url, { account, csr, publish })).kind).toBe('issued');
  expect(stored.finalizations).toBe(1);
});

it('finalize of an order that is already finalized returns the order', async () => {
  const order = await account.newOrder({ dnsNames });
  expect((await account.finalize(order, csr)).status).toBe('valid');
  expect((await account.finalize(order, csr)).status).toBe('valid');
});

it('downloads a certificate again after the download was cut', async () => {
  const { url } = await account.newOrder({ dnsNames });
  const certificate = `/certificate/${url.split('/').at(-1)}`;
  server.overrideOnce(certificate, cutAfter(500));
  expect((await drive(url, { account, csr, publish })).kind).toBe('issued');
  expect(server.requestCount(certificate)).toBe(2);
});

it('waits for an order in processing as long as the CA says', async () => {
  const { url } = await account.newOrder({ dnsNames });
  const path = new URL(url).pathname;
  server.override(path, (correct, socket) => {
    const processing = withMembers({ status: 'processing' })(correct, socket) ?? correct;
    return { ...processing, headers: { ...processing.headers, 'retry-after': '600' } };
  });
  const before = Date.now();
  const order = await account.order(url);
  expect(order.status).toBe('processing');
  expect((order.retryAt?.getTime() ?? 0) - before).toBeGreaterThan(590_000);
});

describe('a chain', () => {
  const chainOf = () => server.orders.chain;
  const blocks = () => chainOf().split(/(?<=-----END CERTIFICATE-----\n)/);
  const name = '/certificate/7';

  it.each<[string, (pem: string) => string]>([
    ['nothing', () => ''],
    ['text', () => 'no certificate at all'],
    ['a certificate cut short', (pem) => pem.slice(0, pem.length - 40)],
    ['text between the certificates', () => blocks().join('Bag Attributes\n')],
    ['a private key', (pem) => `${pem}-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n`],
    ['bytes that are no certificate', () => '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
    ['the wrong order', () => blocks().reverse().join('')],
    ['eleven certificates', (pem) => pem + (blocks()[1] ?? '').repeat(9)],
  ])('of %s is rejected', async (_, change) => {
    server.override(
      name,
      altered(({ body }) => ({ body: change(body) })),
    );
    const fault = await account.certificate(server.url(name)).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(AcmeFault);
    expect(fault).toMatchObject({
      kind: 'not_acme',
      message: expect.stringMatching(/chain .*cannot be used/),
    });
  });

  it('is rejected without its length: if cut after the leaf, it would look complete', async () => {
    server.override(name, (correct, socket) => {
      const leafEnds = bytesOf(correct, false).indexOf('-----END CERTIFICATE-----\n') + 26;
      return cutAfter(leafEnds, false)(correct, socket);
    });
    const fault = await account.certificate(server.url(name)).catch((error: unknown) => error);
    expect(fault).toMatchObject({ kind: expect.stringMatching(/not_acme|unreachable/) });
  });

  it('is rejected with another content type, or when too long', async () => {
    server.override(name, altered({ headers: { 'content-type': 'application/octet-stream' } }));
    await expect(account.certificate(server.url(name))).rejects.toMatchObject({ kind: 'not_acme' });
    server.override(
      name,
      altered(({ body }) => ({ body: body.repeat(100) })),
    );
    await expect(account.certificate(server.url(name))).rejects.toMatchObject({ kind: 'not_acme' });
  });
});
