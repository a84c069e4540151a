import { readCertificate } from '@certwright/pki';
import {
  AccountKey,
  type AcmeAccount,
  type AcmeExchange,
  AcmeFault,
  type AcmeServer,
  chooseChain,
  readHmacKey,
  renewalIdOf,
} from './index';
import { Challenges, drive, issue, newKey, openAccount, openServer } from './testing/issuing';
import { makeCsr } from './testing/csr';
import { installedPebbles, type PebbleRelease, type RunningPebble, startPebble } from './testing/pebble';

const missing = (['packaged', 'newer'] as const).filter((release) => !installedPebbles.includes(release));
if (missing.length > 0)
  it.skip(`needs pebble, which is not installed here: ${missing.join(', ')}`, () => undefined);

const stopping: (() => Promise<void>)[] = [];
/** At the end of a describe: at the end of the file, running children are killed. */
const stopAll = async () => {
  for (const stop of stopping.splice(0).reverse()) await stop();
};

interface Setup {
  readonly pebble: RunningPebble;
  readonly server: AcmeServer;
  readonly key: AccountKey;
  readonly account: AcmeAccount;
  readonly challenges: Challenges;
  readonly exchanges: AcmeExchange[];
}

async function setUp(options: Parameters<typeof startPebble>[0], release?: PebbleRelease): Promise<Setup> {
  const pebble = await startPebble(options, release);
  stopping.push(pebble.stop);
  const exchanges: AcmeExchange[] = [];
  const server = openServer(pebble, { observer: (exchange) => exchanges.push(exchange) });
  stopping.push(async () => await server.close());
  const key = newKey();
  const account = await openAccount(server, key);
  return { pebble, server, key, account, challenges: new Challenges(pebble.challengesUrl, key), exchanges };
}

const namesOf = ({ dnsNames }: { readonly dnsNames: readonly string[] }) => [...dnsNames].sort();

describe.each(installedPebbles)('the %s pebble', (release) => {
  afterAll(stopAll);
  let set: Setup;
  beforeAll(async () => void (set = await setUp({ alternateRoots: 1 }, release)));

  it('issues for a name and its wildcard by dns-01, one step at a time', async () => {
    const moves: string[] = [];
    const dnsNames = ['one.example.com', '*.one.example.com'];
    const { order, leaf, issuers } = await issue(set.account, set.challenges, { dnsNames }, ({ kind }) =>
      moves.push(kind),
    );
    expect(namesOf(order)).toEqual([...dnsNames].sort());
    expect(namesOf(leaf)).toEqual([...dnsNames].sort());
    expect(issuers).toHaveLength(1);
    expect(moves.filter((move) => move !== 'wait').join()).toMatch(
      /^read_authorizations,respond,(respond,)*finalize,download$/,
    );
  });

  it('takes a nonce from every response and requests one only when the pool is empty', async () => {
    set.exchanges.length = 0;
    await issue(set.account, set.challenges, { dnsNames: ['nonces.example.com'] });
    expect(set.exchanges.filter(({ operation }) => operation === 'newNonce')).toEqual([]);
    expect(set.exchanges.every(({ status, fault }) => status !== null && fault === null)).toBe(true);
  });

  it('finds the account of a key, and null for a key without one', async () => {
    expect(await set.server.findAccount(set.key)).toMatchObject({ url: set.account.url, isNew: false });
    expect(await set.server.findAccount(newKey())).toBeNull();
    const again = await set.server.newAccount(set.key, { contacts: [], termsOfServiceAgreed: true });
    expect(again).toMatchObject({ url: set.account.url, isNew: false });
  });

  it.each(['P-384', 'RSA'] as const)('works with %s account keys', async (kind) => {
    const key = newKey(kind);
    const account = await openAccount(set.server, key);
    expect((await account.newOrder({ dnsNames: ['kinds.example.com'] })).status).toBe('pending');
  });

  it('updates the contacts', async () => {
    const account = await openAccount(set.server);
    const { contacts } = await account.updateContacts(['mailto:pki@example.com']);
    expect(contacts).toEqual(['mailto:pki@example.com']);
  });

  it('changes the account key, and finds the valid one after a lost response', async () => {
    const [before, after] = [newKey(), newKey('P-384')];
    const account = await openAccount(set.server, before);
    expect(await set.server.keyOfAccount(account.url, [after, before])).toBe(before);
    await account.changeKey(after);
    expect(await set.server.keyOfAccount(account.url, [before, after])).toBe(after);
    expect(await set.server.keyOfAccount(account.url, [before, newKey()])).toBeNull();
    const renewed = set.server.account(after, account.url);
    expect((await renewed.newOrder({ dnsNames: ['rolled.example.com'] })).status).toBe('pending');
  });

  it('lists alternate chains and selects the one to the preferred root', async () => {
    const first = await issue(set.account, set.challenges, { dnsNames: ['chains.example.com'] });
    expect(first.alternateUrls).toHaveLength(1);
    const other = await set.account.certificate(first.alternateUrls[0] as string);
    expect(other.leaf.sha256).toBe(first.leaf.sha256);
    const nameOf = ({ issuers }: typeof other) => issuers.at(-1)?.issuer.commonNames[0] as string;
    expect(nameOf(other)).not.toBe(nameOf(first));
    expect(chooseChain([first, other], { commonName: nameOf(other) })).toBe(other);
    expect(chooseChain([first, other], { commonName: 'a root that is not there' })).toBe(first);
  });

  it('revokes with the account key and treats "already revoked" as success', async () => {
    const { leaf } = await issue(set.account, set.challenges, { dnsNames: ['revoked.example.com'] });
    expect(await set.account.revoke(leaf.der, 4)).toBe('revoked');
    expect(await set.account.revoke(leaf.der, 4)).toBe('already');
  });

  it('reports which name failed and why', async () => {
    const dnsNames = ['good.example.com', 'wrong.example.com'];
    const { url } = await set.account.newOrder({ dnsNames });
    const publish = async (name: string, token: string) =>
      name.startsWith('good')
        ? await set.challenges.publish(name, token)
        : await set.challenges.publishWrong(name);
    const end = await drive(url, { account: set.account, csr: makeCsr(dnsNames).csr, publish });
    expect(end).toMatchObject({
      kind: 'failed',
      names: [
        {
          dnsName: 'wrong.example.com',
          reason: 'unauthorized',
          saying: expect.stringMatching(/./),
        },
      ],
    });
  });

  it('can finalize again after any outcome of the first request', async () => {
    const dnsNames = ['again.example.com'];
    const order = await set.account.newOrder({ dnsNames });
    const { csr } = makeCsr(dnsNames);
    expect((await set.account.finalize(order, csr)).status).toBe('pending');
    const publish = async (name: string, token: string) => await set.challenges.publish(name, token);
    const onMove = ({ kind }: { kind: string }) => kind === 'finalize' && set.exchanges.splice(0);
    const first = await drive(order.url, { account: set.account, csr, publish, onMove });
    expect((await set.account.finalize(order, csr)).status).toBe('valid');
    const second = await drive(order.url, { account: set.account, csr, publish });
    if (first.kind !== 'issued' || second.kind !== 'issued') throw new Error('not issued');
    expect(second.leaf.sha256).toBe(first.leaf.sha256);
  });

  it('reports a CSR that the CA rejects as badCSR', async () => {
    const dnsNames = ['csr.example.com'];
    const { url } = await set.account.newOrder({ dnsNames });
    const publish = async (name: string, token: string) => await set.challenges.publish(name, token);
    const { csr } = makeCsr(['other.example.com']);
    const fault = await drive(url, { account: set.account, csr, publish }).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(AcmeFault);
    expect(fault).toMatchObject({
      kind: 'problem',
      problem: { type: expect.stringMatching(/badCSR|unauthorized/) },
    });
  });
});

describe.each(installedPebbles)('the %s pebble with external account binding', (release) => {
  afterAll(stopAll);
  it('accepts only an account bound to a known customer', async () => {
    const pebble = await startPebble({ eab: true }, release);
    stopping.push(pebble.stop);
    const server = openServer(pebble);
    stopping.push(async () => await server.close());
    expect((await server.directory()).externalAccountRequired).toBe(true);
    const { keyId = '', key = '' } = pebble.externalAccount ?? {};
    const hmacKey = readHmacKey(key) as Uint8Array;
    const wanted = { contacts: [], termsOfServiceAgreed: true };
    await expect(server.newAccount(newKey(), wanted)).rejects.toMatchObject({
      kind: 'problem',
      problem: { type: 'externalAccountRequired' },
    });
    const forged = { keyId, hmacKey: Buffer.alloc(32, 'x') };
    await expect(server.newAccount(newKey(), { ...wanted, externalAccount: forged })).rejects.toMatchObject({
      kind: 'problem',
    });
    for (const algorithm of ['HS256', 'HS384', 'HS512'] as const) {
      const externalAccount = { keyId, hmacKey, algorithm };
      const made = server
        .newAccount(newKey(), { ...wanted, externalAccount })
        .catch((error: unknown) => error);
      // The test server itself supports only the first.
      if (algorithm === 'HS256')
        expect(await made).toMatchObject({ isNew: true, state: { status: 'valid' } });
    }
  });
});

const newerIt = installedPebbles.includes('newer') ? it : it.skip;

describe('the newer pebble', () => {
  afterAll(stopAll);
  const dayS = 24 * 3_600;
  const profiles = {
    classic: { description: '90 days', validityPeriod: 90 * dayS },
    shortlived: { description: '6 days', validityPeriod: 6 * dayS },
  };
  let set: Setup;
  beforeAll(async () => {
    if (installedPebbles.includes('newer'))
      set = await setUp({ profiles, blocked: ['blocked.example.com'] }, 'newer');
  });

  newerIt('issues by the requested profile', async () => {
    expect(Object.fromEntries((await set.server.directory()).profiles)).toEqual({
      classic: '90 days',
      shortlived: '6 days',
    });
    const wanted = { dnsNames: ['short.example.com'], profile: 'shortlived' };
    const { leaf, order } = await issue(set.account, set.challenges, wanted);
    expect(order.profile).toBe('shortlived');
    const lifetimeS = (leaf.notAfter.getTime() - leaf.notBefore.getTime()) / 1_000;
    expect(Math.round(lifetimeS / dayS)).toBe(6);
    await expect(set.account.newOrder({ ...wanted, profile: 'none' })).rejects.toMatchObject({
      problem: { type: 'invalidProfile' },
    });
  });

  newerIt('says when to renew, and lets a certificate be replaced once', async () => {
    const wanted = { dnsNames: ['renewed.example.com'], profile: 'classic' };
    const { leaf } = await issue(set.account, set.challenges, wanted);
    const id = renewalIdOf(leaf) as string;
    const info = await set.server.renewalInfo(id);
    const { start, end } = info?.window ?? { start: new Date(0), end: new Date(0) };
    expect(start > leaf.notBefore && start < end && end <= leaf.notAfter).toBe(true);
    const next = await issue(set.account, set.challenges, { ...wanted, replaces: id });
    expect(next.leaf.sha256).not.toBe(leaf.sha256);
    await expect(set.account.newOrder({ ...wanted, replaces: id })).rejects.toMatchObject({
      kind: 'problem',
      status: 409,
      problem: { type: 'alreadyReplaced' },
    });
  });

  newerIt('names the identifiers that the CA rejects', async () => {
    const dnsNames = ['fine.example.com', 'blocked.example.com'];
    await expect(set.account.newOrder({ dnsNames })).rejects.toMatchObject({
      kind: 'problem',
      problem: { type: 'rejectedIdentifier' },
    });
  });

  newerIt('starts from valid authorizations where the CA uses them again', async () => {
    const reusing = await setUp({ authzReuse: 100 }, 'newer');
    const wanted = { dnsNames: ['reused.example.com'] };
    await issue(reusing.account, reusing.challenges, wanted);
    const moves: string[] = [];
    await issue(reusing.account, reusing.challenges, wanted, ({ kind }) => moves.push(kind));
    expect(moves).not.toContain('respond');
  });
});

describe.each(installedPebbles)('the %s pebble, that refuses valid nonces', (release) => {
  afterAll(stopAll);
  it.each([
    { nonceReject: 50, count: 50 },
    { nonceReject: 90, count: 15 },
  ])(
    '($nonceReject in 100) issues $count orders at once without a failure',
    async ({ nonceReject, count }) => {
      const { account, challenges, exchanges } = await setUp({ nonceReject }, release);
      const orders = Array.from({ length: count }, (_, index) => `n${index}.example.com`);
      const issued = await Promise.all(
        orders.map(async (name) => await issue(account, challenges, { dnsNames: [name] })),
      );
      expect(issued.map(({ leaf }) => leaf.dnsNames[0])).toEqual(orders);
      expect(issued.every(({ leaf }) => readCertificate(leaf.der).ok)).toBe(true);
      const refused = exchanges.filter(({ status }) => status === 400).length;
      expect(refused / exchanges.length).toBeGreaterThan(nonceReject / 100 - 0.15);
    },
    120_000,
  );
});
