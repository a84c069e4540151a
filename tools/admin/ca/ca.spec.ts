import { execFileSync } from 'node:child_process';
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { encodePem } from '@certwright/pki';
import type { DataSource } from 'typeorm';
import { openBuiltInCa } from '../../../apps/issuance-worker/src/testing/built-in-ca';
import { KeyFiles } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/keys/key-files';
import {
  intermediateRequest,
  intermediateSubject,
} from '../../../apps/issuance-worker/src/certificate-authorities/built-in/ceremony/intermediate-request';
import { signRootList } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/ceremony';
import { adminFixture } from '../testing/admin-fixture';
import { caCommands } from './ca';

const admin = adminFixture();
const publicationUrl = 'http://ca.example.net/ca';
const passphrase = 'a passphrase of the spec';

let folder: string;
let database: DataSource;
const at = (name: string) => path.join(folder, name);
const der = (name: string) => new X509Certificate(readFileSync(at(name))).raw;
const openssl = (...args: readonly string[]) =>
  execFileSync('openssl', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** Runs `npm run admin -- ca …` in the folder of the test. @returns the output */
async function ca(...args: readonly string[]): Promise<string> {
  return (await admin.run([caCommands], 'ca', ...args)).join('\n');
}

const shown = async (): Promise<{ name: string; state: string }[]> =>
  (await ca('show')).split('\n').flatMap((line) => {
    if (line === '') return [];
    const { name, state } = JSON.parse(line) as { name: string; state: string };
    return [{ name, state }];
  });

beforeEach(async () => {
  database = admin.database;
  folder = mkdtempSync(path.join(tmpdir(), 'certwright-ceremony-'));
  await database.query(`DELETE FROM ca_issuer; DELETE FROM ca_key`);
  process.env['BUILT_IN_CA_DIR'] = at('keys');
  process.env['BUILT_IN_CA_NAME'] = 'Spec + Söhne';
  process.env['CA_PUBLICATION_URL'] = publicationUrl;
  writeFileSync(at('passphrase'), `${passphrase}\n`, { mode: 0o600 });
});
afterEach(() => rmSync(folder, { recursive: true }));

const rootFiles = (root = 'root') => ['--root', at(`${root}.pem`), '--root-key', at(`${root}.key`)];
const withPassphrase = () => ['--passphrase-file', at('passphrase')];

async function createRoot(root = 'root'): Promise<void> {
  await ca('create-root', '--name', 'Spec', ...withPassphrase(), ...rootFiles(root));
}

async function sign(csr: string, out: string, root = 'root', rootName = 'root'): Promise<void> {
  const where = ['--publication-url', publicationUrl, '--root-name', rootName];
  await ca('sign-intermediate', at(csr), ...rootFiles(root), ...withPassphrase(), ...where, '--out', at(out));
}

/** The ceremony of docs/operating.md. */
async function createCa(): Promise<void> {
  await createRoot();
  await ca('create', '--out', at('intermediate.csr'));
  await sign('intermediate.csr', 'intermediate.pem');
  await ca('import', at('intermediate.pem'), '--root', at('root.pem'));
}

/** A certificate that openssl makes with the root, with these extensions. */
function signedByOpenssl(csr: string, out: string, extensions: string, days = 100, root = 'root'): void {
  writeFileSync(at('extensions'), extensions);
  const key = ['-CAkey', at(`${root}.key`), '-passin', `pass:${passphrase}`];
  openssl(
    ...['x509', '-req', '-in', at(csr), '-CA', at(`${root}.pem`), ...key, '-set_serial', '77'],
    ...['-days', String(days), '-sha256', '-extfile', at('extensions'), '-out', at(out)],
  );
}

/** The RSA key of RFC 9500, SubjectPublicKeyInfo in base64. */
const publishedKey =
  'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAsPnoGUOnrpiSqt4XynxA+HRP7S+BSObI6qJ7fQAVSPtRkqsotWxQYLEYzNEx5ZSHTGypibVsJylv' +
  'CfuToDTfMul8b/CZjP2Ob0LdpYrNH6l5hvFE89FU1nZQF15oVLOpUgA7wGiHuEVawrGfey92UE68mOyUVXGweJIVDdxqdMoPvNNUl86BU02vlBiESxOuox+d' +
  'WmuVV7vfYZ79Toh/LUK43YvJh+rhv4nKuF7iHjVjBd9sB6iDjj70HFldzOQ9r8SRI+9NirupPTkF5AKNe6kUhKJ1luB7S27ZkvB3tSTT3P593VVJvnzOjaA1' +
  'z6Cz+4+eRvcysqhrRgFlwI9TEwIDAQAB';
const good = `basicConstraints=critical,CA:true,pathlen:0
keyUsage=critical,keyCertSign,cRLSign
subjectKeyIdentifier=hash
`;

describe('the key ceremony', () => {
  it('creates a root that openssl reads, with a key that needs its passphrase', async () => {
    await createRoot();
    expect(statSync(at('root.key')).mode & 0o777).toBe(0o600);
    expect(() => createPrivateKey(readFileSync(at('root.key')))).toThrow();
    expect(openssl('rsa', '-in', 'root.key', '-passin', `pass:${passphrase}`, '-noout', '-text')).toContain(
      '4096 bit',
    );
    expect(openssl('verify', '-x509_strict', '-CAfile', 'root.pem', 'root.pem')).toContain('OK');
    await expect(createRoot()).rejects.toThrow('exists already');
    const [key, certificate] = [at('another.key'), readFileSync(at('root.pem'))];
    await expect(
      ca('create-root', '--name', 'Spec', ...withPassphrase(), '--root', at('root.pem'), '--root-key', key),
    ).rejects.toThrow('root.pem exists already');
    expect(readFileSync(at('root.pem'))).toEqual(certificate);
    writeFileSync(at('passphrase'), 'short');
    await expect(createRoot('another')).rejects.toThrow('at least 16 characters');
    expect(existsSync(key)).toBe(false);
  });

  it.each(['sign-intermediate', 'sign-root-list'])('%s replaces no file of the root', async (command) => {
    await createCa();
    const before = readFileSync(at('root.key'), 'utf8');
    const more =
      command === 'sign-intermediate' ? [at('intermediate.csr'), '--publication-url', publicationUrl] : [];
    for (const [option, file] of Object.entries({
      'root-key': 'root.key',
      root: 'root.pem',
      'passphrase-file': 'passphrase',
    }))
      await expect(
        ca(command, ...more, ...rootFiles(), ...withPassphrase(), '--out', at(file)),
      ).rejects.toThrow(`--out and --${option} name the same file`);
    expect(readFileSync(at('root.key'), 'utf8')).toBe(before);
  });

  it('refuses one file for key and certificate of a root, in any spelling', async () => {
    const [key, certificate] = [at('both.pem'), `${folder}/./both.pem`];
    await expect(
      ca('create-root', '--name', 'Spec', ...withPassphrase(), '--root', certificate, '--root-key', key),
    ).rejects.toThrow('--root and --root-key name the same file');
    expect(existsSync(key)).toBe(false);
  });

  it.each([
    ['of more than 64 characters', 'Ü'.repeat(65)],
    ['that is blank', ' '],
    ['with a line break', 'Example\nLtd'],
  ])('refuses the name of a root %s, and creates nothing', async (_what, name) => {
    const creating = ca('create-root', '--name', name, ...withPassphrase(), ...rootFiles());
    await expect(creating).rejects.toThrow(/--name <organisation>.*Expected 1 to 64 characters/s);
    expect([existsSync(at('root.key')), existsSync(at('root.pem'))]).toEqual([false, false]);
  });

  it('creates a root with a name of 64 characters', async () => {
    await ca('create-root', '--name', 'Ü'.repeat(64), ...withPassphrase(), ...rootFiles());
    const { subject } = new X509Certificate(readFileSync(at('root.pem')));
    expect(subject.split('\n')[0]).toBe(`O=${'Ü'.repeat(64)}`);
  });

  it('certifies an intermediate that issues at once, with the root offline', async () => {
    await createCa();
    expect(await shown()).toEqual([
      { name: 'intermediate', state: 'issues' },
      { name: 'root', state: 'root' },
    ]);
    const text = openssl('x509', '-in', 'intermediate.pem', '-noout', '-text', '-nameopt', 'utf8');
    expect(text).toContain('CA:TRUE, pathlen:0');
    expect(text).toContain(`URI:${publicationUrl}/root.crl`);
    expect(openssl('verify', '-x509_strict', '-CAfile', 'root.pem', 'intermediate.pem')).toContain('OK');
    expect(
      openssl('req', '-in', 'intermediate.csr', '-noout', '-verify', '-text', '-nameopt', 'utf8'),
    ).toMatch(/CA:TRUE, pathlen:0[\s\S]*Certificate Sign, CRL Sign/);
    expect(existsSync(at('keys/root.key'))).toBe(false);
  });

  it('repeats a request before the import, and refuses a second first intermediate after it', async () => {
    await ca('create', '--out', at('one.csr'));
    await ca('create', '--out', at('two.csr'));
    expect(readFileSync(at('two.csr'))).toEqual(readFileSync(at('one.csr')));
    await expect(ca('renew', '--out', at('three.csr'))).rejects.toThrow('Use `ca create`');
    await createCa();
    await expect(ca('create', '--out', at('three.csr'))).rejects.toThrow('Use `ca renew`');
  });

  it('works with keys that are sealed in the database', async () => {
    Object.assign(process.env, {
      BUILT_IN_CA_KEYS: 'sealed',
      CA_ACCOUNT_KEYS: Buffer.alloc(32, 5).toString('base64'),
    });
    await createCa();
    expect(existsSync(at('keys'))).toBe(false);
    expect(await ca('reseal')).toBe('sealed again: intermediate');
    for (const name of ['BUILT_IN_CA_KEYS', 'CA_ACCOUNT_KEYS']) delete process.env[name];
  });
});

describe('a request for an intermediate is refused, and nothing is written,', () => {
  const signing = async () => await sign('weak.csr', 'weak.pem');
  beforeEach(async () => await createRoot());
  afterEach(() => expect(existsSync(at('weak.pem'))).toBe(false));

  it.each([
    ['few bits', ['-newkey', 'rsa:1024'], 'The RSA key has 1024 bits; it must have 2048, 3072 or 4096.'],
    [
      'an exponent other than 65537',
      ['-newkey', 'rsa:2048', '-pkeyopt', 'rsa_keygen_pubexp:3'],
      'The RSA key is not safe: its public exponent is not 65537.',
    ],
    [
      'an elliptic curve',
      ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:secp256k1'],
      'The CSR has an ECDSA key; it must be RSA.',
    ],
  ])('for a key with %s', async (_what, key, message) => {
    openssl('req', '-new', ...key, '-nodes', '-keyout', 'weak.key', '-subj', '/CN=Weak', '-out', 'weak.csr');
    await expect(signing()).rejects.toThrow(message);
  });

  it('for a key whose private half is published, and without its signature', async () => {
    const spki = Buffer.from(publishedKey, 'base64');
    const key = { spki, sign: async () => await Promise.resolve(Buffer.alloc(256)) };
    const csr = await intermediateRequest(key, intermediateSubject('Spec', spki));
    writeFileSync(at('weak.csr'), encodePem('CERTIFICATE REQUEST', csr));
    await expect(signing()).rejects.toThrow(
      /publicly known \(RFC 9500.*\n.* was not made with the private key/,
    );
  });
});

describe('an import', () => {
  beforeEach(async () => {
    await createRoot();
    await ca('create', '--out', at('intermediate.csr'));
  });
  const importing = async (file: string, ...args: readonly string[]) =>
    await ca('import', at(file), ...(args.length === 0 ? ['--root', at('root.pem')] : args));

  it('accepts a certificate of an external root', async () => {
    signedByOpenssl('intermediate.csr', 'external.pem', good);
    expect(await importing('external.pem')).toContain('stored intermediate of root');
  });

  it.each([
    ['no CA', good.replace('CA:true,pathlen:0', 'CA:false'), 'basicConstraints with cA true'],
    ['constraints that are not critical', good.replace('=critical,CA', '=CA'), 'critical basicConstraints'],
    ['no path length', good.replace(',pathlen:0', ''), 'pathLenConstraint 0'],
    ['a longer path', good.replace('pathlen:0', 'pathlen:1'), 'pathLenConstraint 0'],
    ['no cRLSign', good.replace(',cRLSign', ''), 'keyCertSign and cRLSign'],
    [
      'no key identifier',
      good.replace('subjectKeyIdentifier=hash\n', 'subjectKeyIdentifier=none\n'),
      'subject key identifier',
    ],
    ['another purpose', `${good}extendedKeyUsage=emailProtection\n`, 'do not allow serverAuth'],
    [
      'the revocation list of another root',
      `${good}crlDistributionPoints=URI:${publicationUrl}/root-2.crl\n`,
      '--root-name root',
    ],
  ])('refuses %s, and stores nothing', async (_what, extensions, message) => {
    signedByOpenssl('intermediate.csr', 'bad.pem', extensions);
    await expect(importing('bad.pem')).rejects.toThrow(message);
    expect(await shown()).toEqual([]);
  });

  it('refuses an intermediate that ends after the root', async () => {
    signedByOpenssl('intermediate.csr', 'long.pem', good, 365 * 21);
    await expect(importing('long.pem')).rejects.toThrow('ends after the root');
  });

  it('refuses a key that is not here, and names the setting', async () => {
    await sign('intermediate.csr', 'intermediate.pem');
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    writeFileSync(at('keys/intermediate.key'), other.export({ type: 'pkcs8', format: 'pem' }), {
      mode: 0o600,
    });
    await expect(importing('intermediate.pem')).rejects.toThrow(/^BUILT_IN_CA_DIR: .*another key/);
    expect(await shown()).toEqual([]);
  });

  it('refuses another root, a root that is none, and an unknown one', async () => {
    await sign('intermediate.csr', 'intermediate.pem');
    await createRoot('other');
    await expect(importing('intermediate.pem', '--root', at('other.pem'))).rejects.toThrow(
      'not signed by the root',
    );
    await expect(importing('intermediate.pem', '--root', at('intermediate.pem'))).rejects.toThrow(
      'self-signed',
    );
    await expect(ca('import', at('intermediate.pem'))).rejects.toThrow('--root');
    await expect(importing('intermediate.csr')).rejects.toThrow('expected one "CERTIFICATE"');
    await expect(importing('passphrase')).rejects.toThrow('passphrase: expected one "CERTIFICATE"');
  });

  it('refuses a root whose path length allows no intermediate', async () => {
    const subject = [
      '-subj',
      '/CN=narrow',
      '-days',
      '400',
      '-addext',
      'basicConstraints=critical,CA:true,pathlen:0',
    ];
    const key = ['-newkey', 'rsa:2048', '-keyout', at('narrow.key'), '-passout', `pass:${passphrase}`];
    openssl(
      'req',
      '-x509',
      ...key,
      ...subject,
      '-addext',
      'keyUsage=critical,keyCertSign',
      '-out',
      at('narrow.pem'),
    );
    signedByOpenssl('intermediate.csr', 'below.pem', good, 100, 'narrow');
    await expect(importing('below.pem', '--root', at('narrow.pem'))).rejects.toThrow(
      'allows no intermediate',
    );
  });
});

describe('a renewal', () => {
  it('is stored, then issues when it is activated, and can be undone', async () => {
    await createCa();
    await ca('renew', '--out', at('next.csr'));
    await sign('next.csr', 'next.pem');
    expect(await ca('import', at('next.pem'))).toContain('ca activate intermediate-2');
    const states = async () => (await shown()).map(({ state }) => state);
    expect(await states()).toEqual(['issues', 'stored', 'root']);
    await ca('activate', 'intermediate-2');
    expect(await states()).toEqual(['signs revocation lists', 'issues', 'root']);
    await ca('activate', 'intermediate');
    expect(await states()).toEqual(['issues', 'signs revocation lists', 'root']);
    await expect(ca('activate', 'root')).rejects.toThrow('is a root');
    await expect(ca('activate', 'intermediate-9')).rejects.toThrow(
      'Existing ones: intermediate, intermediate-2, root',
    );
  });

  it('may be another certificate of the same key, under the same subject and another root', async () => {
    await createCa();
    await createRoot('corporate');
    await ca('export-csr', 'intermediate', '--out', at('again.csr'));
    await sign('again.csr', 'again.pem', 'corporate');
    await expect(ca('import', at('again.pem'), '--root', at('corporate.pem'))).rejects.toThrow(
      '--root-name root-2',
    );
    await sign('again.csr', 'again.pem', 'corporate', 'root-2');
    const printed = await ca('import', at('again.pem'), '--root', at('corporate.pem'));
    expect(printed).toMatch(/^replaced intermediate of root-2\nWorkers issue from it/);
    expect((await shown()).map(({ name }) => name)).toEqual(['intermediate', 'root', 'root-2']);
    openssl('req', '-new', '-key', 'keys/intermediate.key', '-subj', '/CN=Renamed', '-out', 'renamed.csr');
    await sign('renamed.csr', 'renamed.pem');
    await expect(ca('import', at('renamed.pem'))).rejects.toThrow('The subject differs');
  });

  it('of the same key keeps the key identifier, which certificates and revocation lists name', async () => {
    await createCa();
    await createRoot('corporate');
    await ca('export-csr', 'intermediate', '--out', at('again.csr'));
    const importing = async () => await ca('import', at('again.pem'), '--root', at('corporate.pem'));
    const shownId = openssl('x509', '-in', 'intermediate.pem', '-noout', '-ext', 'subjectKeyIdentifier');
    const id = shownId.split('\n')[1]?.trim() ?? '';
    signedByOpenssl('again.csr', 'again.pem', good, 100, 'corporate');
    await expect(importing()).rejects.toThrow(
      `The subject key identifier differs from that of "intermediate", which has the same key: its certificates could not be checked for revocation any more. Have it certified with the identifier ${id.replaceAll(':', '').toLowerCase()}`,
    );
    expect((await shown()).map(({ name }) => name)).toEqual(['intermediate', 'root']);
    const extensions = good.replace('=hash', `=${id}`);
    signedByOpenssl('again.csr', 'again.pem', extensions, 100, 'corporate');
    expect(await importing()).toMatch(/^replaced intermediate of root-2\n/);
  });

  it('retires the previous intermediate only when its certificates have expired', async () => {
    await createCa();
    await expect(ca('retire', 'intermediate')).rejects.toThrow('Workers issue from');
    await ca('renew', '--out', at('next.csr'));
    await sign('next.csr', 'next.pem');
    await ca('import', at('next.pem'));
    await ca('activate', 'intermediate-2');
    await expect(ca('retire', 'intermediate')).rejects.toThrow('Workers may still issue from "intermediate"');
    await database.query(`UPDATE ca_issuer SET activated_at = activated_at - interval '11 minutes'`);
    await ca('retire', 'intermediate');
    expect((await shown()).map(({ state }) => state)).toEqual(['retired', 'issues', 'root']);
  });
});

describe('the revocation list of the root', () => {
  const signList = async (...more: readonly string[]) =>
    await ca('sign-root-list', ...rootFiles(), ...withPassphrase(), '--out', at('root.crl'), ...more);

  it('is signed ahead of time, and lists a revoked intermediate', async () => {
    await createCa();
    await signList(
      '--days',
      '200',
      '--revoke',
      `${at('intermediate.pem')}:keyCompromise:2026-11-01T00:00:00Z`,
    );
    expect(await ca('import-root-list', at('root.crl'))).toBe('published root.crl');
    const [{ crl, until }] = await database.query<[{ crl: Buffer; until: Date }]>(
      `SELECT crl, crl_next_update AS until FROM ca_issuer WHERE name = 'root'`,
    );
    expect(until.getTime()).toBeGreaterThan(Date.now() + 199 * 86_400_000);
    writeFileSync(at('published.crl'), encodePem('X509 CRL', crl));
    const text = openssl('crl', '-in', 'published.crl', '-noout', '-text', '-CAfile', 'root.pem');
    expect(text).toContain('Key Compromise');
    expect(text).toContain(new X509Certificate(der('intermediate.pem')).serialNumber);
    const check = ['-crl_check_all', '-CRLfile', 'published.crl', '-CAfile', 'root.pem'];
    expect(() => openssl('verify', ...check, 'intermediate.pem')).toThrow(/certificate revoked/);
  });

  it('is refused when it is older, foreign, or lacks a revocation', async () => {
    await createCa();
    await signList('--revoke', `${at('intermediate.pem')}:superseded`);
    await ca('import-root-list', at('root.crl'));
    await expect(ca('import-root-list', at('root.crl'))).rejects.toThrow('same number or a higher one');
    await signList();
    await expect(ca('import-root-list', at('root.crl'))).rejects.toThrow(
      /lacks [0-9A-F]+, which the published/,
    );
    await createRoot('other');
    await ca('sign-root-list', ...rootFiles('other'), ...withPassphrase(), '--out', at('other.crl'));
    await expect(ca('import-root-list', at('other.crl'))).rejects.toThrow(
      'not a revocation list of a stored root',
    );
  });

  it('of a machine whose clock is ahead is refused, since clients refuse it too, and later ones had lower numbers', async () => {
    await createCa();
    const key = createPrivateKey({ key: readFileSync(at('root.key')), passphrase });
    const [signedAt, nextUpdate] = [
      new Date(Date.now() + 86_400_000),
      new Date(Date.now() + 90 * 86_400_000),
    ];
    const list = await signRootList({ key, certificate: der('root.pem') }, [], signedAt, nextUpdate);
    writeFileSync(at('ahead.crl'), encodePem('X509 CRL', list));
    await expect(ca('import-root-list', at('ahead.crl'))).rejects.toThrow(
      /is not valid before .* Correct the clock of the machine with the root key/,
    );
    await signList();
    expect(await ca('import-root-list', at('root.crl'))).toBe('published root.crl');
  });

  it('that openssl signed without a number is refused with that reason', async () => {
    await createCa();
    writeFileSync(at('openssl.cnf'), '[ca]\ndefault_ca = root\n[root]\ndatabase = index.txt\n');
    writeFileSync(at('index.txt'), '');
    const config = ['-config', 'openssl.cnf', '-cert', 'root.pem', '-keyfile', 'root.key'];
    const made = ['-passin', 'file:passphrase', '-md', 'sha256', '-crldays', '30', '-out', 'plain.crl'];
    openssl('ca', '-gencrl', ...config, ...made);
    await expect(ca('import-root-list', at('plain.crl'))).rejects.toThrow('lacks its number');
    await expect(ca('import-root-list', at('root.pem'))).rejects.toThrow('expected one "X509 CRL"');
  });

  it('needs a root key that only its owner may read, its passphrase, and its own certificate', async () => {
    await createCa();
    writeFileSync(at('wrong'), 'another passphrase');
    const files = [...rootFiles(), '--out', at('x.crl')];
    await expect(ca('sign-root-list', ...files, '--passphrase-file', at('wrong'))).rejects.toThrow(
      '--passphrase-file does not have its passphrase',
    );
    const swapped = ['--root', at('intermediate.pem'), '--root-key', at('root.key'), '--out', at('x.crl')];
    await expect(ca('sign-root-list', ...swapped, ...withPassphrase())).rejects.toThrow(
      'not the RSA key of the root',
    );
    chmodSync(at('root.key'), 0o640);
    await expect(signList()).rejects.toThrow('chmod 600');
  });
});

describe('a sandbox', () => {
  it('gets its CA once, with a list of the root that lasts, and without the root key', async () => {
    expect(await ca('create-sandbox')).toBe('Created the CA of the sandbox.');
    expect(await ca('create-sandbox')).toBe('');
    const [{ years }] = await database.query<[{ years: number }]>(
      `SELECT extract(year FROM age(crl_next_update, now()))::int AS years FROM ca_issuer WHERE name = 'root'`,
    );
    expect(years).toBe(9);
    expect(openssl('x509', '-in', 'keys/root.pem', '-noout', '-subject')).toContain('Root');
    expect(existsSync(at('keys/root.key'))).toBe(false);
  });

  it('of an earlier release keeps its CA: the list of the root is signed once more, and its key moves to another folder', async () => {
    await createCa();
    const key = createPrivateKey({ key: readFileSync(at('root.key')), passphrase });
    writeFileSync(at('keys/root.key'), key.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    rmSync(at('root.key'));
    expect(await ca('create-sandbox')).toContain('Moved the root key');
    expect([existsSync(at('keys/root.key')), existsSync(at('root.key'))]).toEqual([false, true]);
    const { ca: builtIn } = await openBuiltInCa({
      owner: database,
      worker: database,
      keys: new KeyFiles(at('keys')),
    });
    await builtIn.renewRevocationLists();
    const rows = await database.query<{ name: string; far: boolean }[]>(
      `SELECT name, crl_next_update > now() + interval '8 days' AS far FROM ca_issuer ORDER BY name`,
    );
    expect(rows).toEqual([
      { name: 'intermediate', far: false },
      { name: 'root', far: true },
    ]);
  });
});
