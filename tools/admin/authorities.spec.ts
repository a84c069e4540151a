import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { rootCertificates } from 'node:tls';
import { CaAccounts } from '../../apps/issuance-worker/src/certificate-authorities/ca-accounts';
import { CertificateAuthorityEntity, ProductEntity } from '@certwright/core-schema';
import { SealingKeys } from '@certwright/sealing';
import type { DataSource } from 'typeorm';
import { authorityCommands } from './authorities';
import { caCommands } from './ca/ca';
import { productCommands } from './products';
import { adminFixture } from './testing/admin-fixture';

const sealingKey = randomBytes(32);
const [root = '', otherRoot = ''] = rootCertificates;
const directory = 'https://acme.example/directory';

const admin = adminFixture();
let database: DataSource;
let folder: string;

beforeAll(async () => {
  process.env['CA_ACCOUNT_KEYS'] = sealingKey.toString('base64');
  folder = await mkdtemp(path.join(tmpdir(), 'authorities-'));
  database = admin.database;
});
afterAll(async () => {
  delete process.env['CA_ACCOUNT_KEYS'];
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  for (const table of ['ca_account', 'certificate_authority']) await database.query(`DELETE FROM ${table}`);
});

/** Runs `npm run admin -- …`. @returns the output */
const run = async (...args: string[]) =>
  (await admin.run([authorityCommands, caCommands, productCommands], ...args)).join('\n');

const stored = async (name = 'mine') =>
  await database.getRepository(CertificateAuthorityEntity).findOneBy({ name });
const product = async () => await database.getRepository(ProductEntity).findOneBy({ name: 'free_ca' });

async function file(name: string, content: string): Promise<string> {
  const at = path.join(folder, name);
  await writeFile(at, content);
  return at;
}

describe('a CA', () => {
  it('that has a preset is added with it', async () => {
    await run('authority', 'add', 'letsencrypt', '--preset', 'letsencrypt', '--contact', 'ops@example.com');
    expect(await stored('letsencrypt')).toMatchObject({
      directoryUrl: 'https://acme-v02.api.letsencrypt.org/directory',
      caaDomains: ['letsencrypt.org'],
      contacts: ['mailto:ops@example.com'],
      limits: {
        newOrders: { count: 300, perS: 10_800 },
        perRegisteredDomain: { count: 50, perS: 604_800 },
        perNameSet: { count: 5, perS: 604_800 },
        failedAuthorizations: { count: 5, perS: 3_600 },
        replacementsExempt: true,
        profileLimits: { tlsserver: { maxDnsNames: 25 } },
      },
      enabled: true,
    });
    await run('authority', 'add', 'staging', '--preset', 'letsencrypt-staging', '--limits', 'none');
    expect(await stored('staging')).toMatchObject({ limits: {} });
    expect(await run('authority', 'list')).toBe(
      [
        'letsencrypt\tenabled\thttps://acme-v02.api.letsencrypt.org/directory\tletsencrypt.org',
        'staging\tenabled\thttps://acme-staging-v02.api.letsencrypt.org/directory\tletsencrypt.org',
      ].join('\n'),
    );
  });

  it('without a preset is added with its options', async () => {
    const roots = await file('roots.pem', `first\n${root}\nsecond\n${otherRoot}\n`);
    await run(
      ...['authority', 'add', 'mine', '--directory', directory, '--tls-roots', roots],
      ...[
        '--trusted-root',
        await file('one.pem', root),
        '--trusted-root',
        await file('other.pem', otherRoot),
      ],
      ...[
        '--allowed-host',
        'acme2.example:8443',
        '--caa-domain',
        'ca.example',
        '--caa-domain',
        'ca2.example',
      ],
      ...['--preferred-root', 'Root X1', '--limits', '{"newOrders":{"count":2,"perS":60}}'],
    );
    const row = await stored();
    expect(row).toMatchObject({
      directoryUrl: directory,
      allowedHosts: ['acme2.example:8443'],
      caaDomains: ['ca.example', 'ca2.example'],
      preferredRoot: 'Root X1',
      limits: { newOrders: { count: 2, perS: 60 } },
    });
    expect(row?.trustedRoots).toHaveLength(2);
    expect(row?.tlsRoots?.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
    await expect(run('authority', 'add', 'mine', '--directory', directory)).rejects.toThrow('already');
  });

  it('changes only in the given options', async () => {
    await run('authority', 'add', 'mine', '--directory', directory, '--caa-domain', 'ca.example');
    await run('authority', 'set', 'mine', '--preferred-root', 'Root X1');
    expect(await stored()).toMatchObject({ preferredRoot: 'Root X1', caaDomains: ['ca.example'] });
    await run('authority', 'set', 'mine', '--preferred-root', '', '--caa-domain', '');
    expect(await stored()).toMatchObject({ preferredRoot: null, caaDomains: [] });
    await expect(run('authority', 'set', 'mine')).rejects.toThrow('Nothing to change');
    await expect(run('authority', 'set', 'missing', '--limits', 'none')).rejects.toThrow(
      'no authority "missing"',
    );
  });

  it('is disabled and enabled', async () => {
    await run('authority', 'add', 'mine', '--directory', directory);
    expect(await run('authority', 'disable', 'mine')).toBe('authority mine: disabled');
    expect(await run('authority', 'list')).toContain('mine\tdisabled\t');
    await database.query(
      `UPDATE certificate_authority SET down_since = now(), down_until = now() + interval '1 h', problem = 'No response.',
         enabled = true`,
    );
    expect(await run('authority', 'list')).toMatch(/mine\tdown since \S+, next probe \S+ \(No response\.\)/);
    await run('authority', 'enable', 'mine');
    expect(await run('authority', 'list')).toContain('mine\tenabled\t');
  });

  it.each([
    ['a name', ['add', 'Mine', '--directory', directory], 'lower-case letters'],
    ['the name of the built-in one', ['add', 'built-in', '--directory', directory], 'is not "built-in"'],
    ['no directory', ['add', 'mine'], '--directory or --preset'],
    ['an unknown preset', ['add', 'mine', '--preset', 'constructor'], 'There is no preset "constructor"'],
    ['a directory by http', ['add', 'mine', '--directory', 'http://acme.example/'], 'Expected an https URL'],
    [
      'a host with a path',
      ['add', 'mine', '--allowed-host', 'acme.example/x'],
      'Expected a host or host:port',
    ],
    ['a CAA domain', ['add', 'mine', '--caa-domain', 'CA.example'], 'in lower case'],
    [
      'two contacts in one',
      ['add', 'mine', '--contact', 'a@b.example,c@d.example'],
      'Expected an email address',
    ],
    ['an unknown limit', ['add', 'mine', '--limits', '{"perWeek":{"count":1,"perS":1}}'], '"perWeek"'],
    ['a limit of 0', ['add', 'mine', '--limits', '{"newOrders":{"count":0,"perS":1}}'], '"newOrders"'],
    [
      'an exemption that is not a boolean',
      ['add', 'mine', '--limits', '{"replacementsExempt":1}'],
      '"replacementsExempt"',
    ],
    ['no names', ['add', 'mine', '--limits', '{"profileLimits":{"a":{"maxDnsNames":0}}}'], '"profileLimits"'],
    ['limits that are not JSON', ['add', 'mine', '--limits', 'many'], 'Neither a preset nor JSON'],
    [
      'a missing root file',
      ['add', 'mine', '--directory', directory, '--tls-roots', '/none'],
      'cannot be read',
    ],
  ])('is not added with an error: %s', async (_what, args, message) => {
    await expect(run('authority', ...args)).rejects.toThrow(message);
    expect(await database.getRepository(CertificateAuthorityEntity).count()).toBe(0);
  });
});

describe('the key of an external account binding', () => {
  const add = async (hmac: string) =>
    await run(
      ...['authority', 'add', 'mine', '--directory', directory, '--eab-key-id', 'kid'],
      ...['--eab-hmac-file', await file('hmac', hmac)],
    );

  it('is encrypted with the keys of the worker, only for this CA, and never shown', async () => {
    const hmac = randomBytes(32);
    await add(`${hmac.toString('base64')}\n`);
    const row = await stored();
    const keys = new SealingKeys([sealingKey]);
    const sealed = row?.eabHmacSealed ?? Buffer.alloc(0);
    expect(keys.open(sealed, 'ca-eab:mine')).toBe(hmac.toString('base64url'));
    expect(() => keys.open(sealed, 'ca-eab:other')).toThrow();
    const shown = await run('authority', 'show', 'mine');
    expect(JSON.parse(shown)).toMatchObject({ eabKeyId: 'kid', eabHmac: 'sealed' });
    expect(shown).not.toContain(sealed.toString('base64').slice(0, 8));
    await run('authority', 'set', 'mine', '--eab-key-id', '');
    expect(await stored()).toMatchObject({ eabKeyId: null, eabHmacSealed: null });
  });

  it('is sealed again with a new key of the worker, after which the old one is not needed', async () => {
    const [hmac, newKey] = [randomBytes(32), randomBytes(32)];
    await add(hmac.toString('base64url'));
    await run('authority', 'add', 'without-external-account', '--directory', directory);
    const before = process.env['CA_ACCOUNT_KEYS'];
    process.env['CA_ACCOUNT_KEYS'] = [newKey, sealingKey].map((key) => key.toString('base64')).join();
    expect(await run('ca', 'reseal')).toBe('sealed again: mine');
    process.env['CA_ACCOUNT_KEYS'] = before;
    const sealed = (await stored())?.eabHmacSealed ?? Buffer.alloc(0);
    expect(new SealingKeys([newKey]).open(sealed, 'ca-eab:mine')).toBe(hmac.toString('base64url'));
  });

  it('is refused without being printed', async () => {
    const secret = 'not*base64*but*a*secret';
    const error = await add(secret).catch((fault: unknown) => String(fault));
    expect(error).toContain('not the base64url of 16 bytes');
    expect(error).not.toContain(secret);
    await expect(add('c2hvcnQ')).rejects.toThrow('16 bytes');
    await expect(run('authority', 'add', 'mine', '--eab-key-id', 'kid')).rejects.toThrow('Give both');
  });
});

describe('our account at a CA', () => {
  beforeEach(async () => void (await run('authority', 'add', 'mine', '--directory', directory)));

  async function opened(): Promise<void> {
    const accounts = new CaAccounts(database);
    const { id } = await accounts.begin('mine', Buffer.of(1));
    await accounts.opened(id, 'https://acme.example/account/1');
  }

  it('is shown, and its key is changed by the worker', async () => {
    expect(await run('authority', 'account', 'mine')).toBe('none yet: the first order creates it');
    await expect(run('authority', 'roll-account-key', 'mine')).rejects.toThrow('no valid account');
    await opened();
    const line = await run('authority', 'account', 'mine');
    expect(line).toMatch(/^valid\thttps:\/\/acme\.example\/account\/1\t.*Z\tkey unchanged$/);
    await run('authority', 'roll-account-key', 'mine');
    expect(await run('authority', 'account', 'mine')).toContain('key is being changed');
    expect(await new CaAccounts(database).takeRollover(60_000)).toMatchObject({ authority: 'mine' });
  });

  it('prevents a change of the directory', async () => {
    await run('authority', 'set', 'mine', '--directory', `${directory}/2`);
    await opened();
    await expect(run('authority', 'set', 'mine', '--directory', directory)).rejects.toThrow('add another');
  });
});

describe('a product', () => {
  beforeEach(async () => {
    for (const name of ['one', 'other']) await run('authority', 'add', name, '--directory', directory);
  });
  const set = async (...args: string[]) => await run('product', 'set', 'free_ca', ...args);

  it('lists its CAs in order of preference, each with its profile', async () => {
    await set('--authorities', 'one:classic,other');
    expect((await product())?.authorities).toEqual([
      { name: 'one', profile: 'classic' },
      { name: 'other', profile: null },
    ]);
    await set('--authorities', '');
    expect((await product())?.authorities).toEqual([]);
  });

  it('warns of CSRs that an ACME CA rejects', async () => {
    expect(await set('--authorities', 'one')).not.toContain('warning');
    expect(await set('--csr-names-every-dns-name', 'false')).toContain('warning: ACME CAs reject CSRs');
    expect(await set('--authorities', '')).not.toContain('warning');
    await set('--csr-names-every-dns-name', 'true');
    expect(await product()).toMatchObject({ authorities: [], csrNamesEveryDnsName: true });
  });

  it('has its keys, its approval and its price', async () => {
    await set('--rsa-sizes', '3072,2048', '--curves', 'P-384', '--http-approval', 'false');
    await set('--price', '19.99', '--currency', 'EUR');
    expect(await product()).toMatchObject({
      rsaSizes: [2048, 3072],
      curves: ['P-384'],
      httpApproval: false,
      priceCents: 1_999,
      currency: 'EUR',
    });
    await set('--rsa-sizes', '');
    await expect(set('--curves', '')).rejects.toThrow('must accept RSA keys, ECDSA keys, or both');
  });

  it.each([
    [['--authorities', 'one,missing'], 'There is no authority missing. Existing ones: one, other.'],
    [['--authorities', 'one:x,one:y'], 'Name each authority only once'],
    [['--authorities', 'one,'], 'Expected name or name:profile'],
    [['--rsa-sizes', '1024'], 'any of 2048, 3072, 4096'],
    [['--curves', 'P-521'], 'any of P-256, P-384'],
    [['--currency', 'euro'], 'Expected three capital letters'],
  ])('is not set to %j', async (args, message) => {
    const before = await product();
    await expect(set(...args)).rejects.toThrow(message);
    expect(await product()).toEqual(before);
  });
});
