import { execFileSync, spawnSync } from 'node:child_process';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, createServer, type PeerCertificate, type Server } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { readCertificate } from '../certificate/read-certificate';
import { encodePem } from '../pem';
import { temporaryCertificate } from './temporary-certificate';

const keys = {
  'RSA 2048': generateKeyPairSync('rsa', { modulusLength: 2048 }),
  'RSA 4096': generateKeyPairSync('rsa', { modulusLength: 4096 }),
  'P-256': generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'P-384': generateKeyPairSync('ec', { namedCurve: 'P-384' }),
} as const;
const kinds = Object.keys(keys) as (keyof typeof keys)[];

const dnsNames = ['*.example.com', 'example.com', 'xn--bcher-kva.example.com'];
const validFrom = new Date('2026-11-20T10:11:12.987Z');

const spkiOf = (kind: keyof typeof keys) => keys[kind].publicKey.export({ type: 'spki', format: 'der' });
const made = (kind: keyof typeof keys, change: { dnsNames?: string[]; validFrom?: Date } = {}) =>
  temporaryCertificate({ spkiDer: spkiOf(kind), dnsNames, validFrom, ...change });
const pemOf = (kind: keyof typeof keys) => encodePem('CERTIFICATE', made(kind, { validFrom: new Date() }));
const privatePem = (kind: keyof typeof keys) =>
  keys[kind].privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

let folder: string;
beforeAll(() => void (folder = mkdtempSync(path.join(tmpdir(), 'temporary-certificate-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const openssl = (input: string, ...args: readonly string[]) =>
  execFileSync('openssl', args, { input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] });

describe('a temporary certificate', () => {
  it.each(kinds)('has the public key of the customer: %s', (kind) => {
    const publicPem = keys[kind].publicKey.export({ type: 'spki', format: 'pem' });
    expect(openssl(pemOf(kind), 'x509', '-noout', '-pubkey')).toBe(publicPem);
    expect(new X509Certificate(made(kind)).checkPrivateKey(keys[kind].privateKey)).toBe(true);
  });

  it('has the names and the time of its instance, and is marked as temporary', () => {
    const reading = readCertificate(made('P-256'));
    expect(reading).toMatchObject({
      ok: true,
      certificate: {
        subjectCommonName: '*.example.com',
        dnsNames,
        otherNameKinds: [],
        notBefore: new Date('2026-11-20T10:11:12Z'),
        notAfter: new Date('2027-02-18T10:11:12Z'),
        extendedKeyUsages: ['1.3.6.1.5.5.7.3.1'],
        isCa: false,
        keyType: 'ecdsa',
        signatureAlgorithm: { name: 'Ed25519' },
      },
    });
    const text = openssl(encodePem('CERTIFICATE', made('RSA 2048')), 'x509', '-noout', '-text');
    const { subject, issuer } = new X509Certificate(made('RSA 2048'));
    expect([subject, issuer]).toEqual(
      Array(2).fill('O=Temporary certificate\\, not trusted\nCN=*.example.com'),
    );
    expect(text).toContain('Version: 3 (0x2)');
    expect(text).toMatch(/Key Usage: critical\s+Digital Signature, Key Encipherment\n/);
    expect(text).toMatch(/Basic Constraints: critical\s+CA:FALSE/);
    expect(text).toContain('DNS:*.example.com, DNS:example.com, DNS:xn--bcher-kva.example.com');
  });

  it('is deterministic, and differs for another key, name or second', () => {
    const first = Buffer.from(made('P-256'));
    expect(Buffer.from(made('P-256'))).toEqual(first);
    expect(Buffer.from(made('P-256', { validFrom: new Date('2026-11-20T10:11:12Z') }))).toEqual(first);
    const others = [
      made('P-384'),
      made('P-256', { validFrom: new Date('2026-11-20T10:11:13Z') }),
      made('P-256', { dnsNames: [...dnsNames, 'www.example.com'] }),
    ];
    const serials = [first, ...others].map((der) => new X509Certificate(der).serialNumber);
    expect(new Set(serials).size).toBe(4);
  });

  it('omits a common name that is too long for the attribute', () => {
    const long = `${'a'.repeat(60)}.example.com`;
    const reading = readCertificate(made('P-256', { dnsNames: [long] }));
    expect(reading).toMatchObject({
      ok: true,
      certificate: { subjectCommonName: undefined, dnsNames: [long] },
    });
  });

  it('is valid beyond 2049 in the form that RFC 5280 then requires', () => {
    const der = made('P-256', { validFrom: new Date('2049-12-01T00:00:00Z') });
    const text = openssl(encodePem('CERTIFICATE', der), 'x509', '-noout', '-dates');
    expect(text).toBe('notBefore=Dec  1 00:00:00 2049 GMT\nnotAfter=Mar  1 00:00:00 2050 GMT\n');
    expect(Buffer.from(der).toString('latin1')).toContain('20500301000000Z');
  });

  it('is not trusted: OpenSSL rejects it, even as its own root', () => {
    const file = path.join(folder, 'untrusted.pem');
    writeFileSync(file, pemOf('P-256'));
    const verified = spawnSync('openssl', ['verify', file], { encoding: 'utf8' });
    expect(verified.status).not.toBe(0);
    const asRoot = spawnSync('openssl', ['verify', '-check_ss_sig', '-CAfile', file, file], {
      encoding: 'utf8',
    });
    expect(asRoot.status).not.toBe(0);
  });
});

describe('a server with a temporary certificate', () => {
  it.each(kinds)('starts and shakes hands, TLS 1.2 and 1.3: %s', async (kind) => {
    // Once: it contains the second of its creation.
    const cert = pemOf(kind);
    const server = createServer({ key: privatePem(kind), cert }, (socket) => socket.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
        const peer = await peerCertificate(server, version);
        expect(Buffer.from(peer.raw)).toEqual(new X509Certificate(cert).raw);
      }
    } finally {
      server.close();
    }
  });

  const nginx = spawnSync('nginx', ['-v']).error === undefined ? it.each(kinds) : it.skip.each(kinds);
  nginx('is taken by nginx: %s', (kind) => {
    const file = (name: string, text: string) => {
      const full = path.join(folder, name);
      writeFileSync(full, text);
      return full;
    };
    const certificate = file('certificate.pem', pemOf(kind));
    const key = file('key.pem', privatePem(kind));
    const configuration = file(
      'nginx.conf',
      `pid ${folder}/nginx.pid; error_log stderr; events {}
       http { access_log off; server { listen 127.0.0.1:1 ssl; ssl_certificate ${certificate}; ssl_certificate_key ${key}; } }`,
    );
    const tested = spawnSync('nginx', ['-t', '-p', folder, '-c', configuration], { encoding: 'utf8' });
    expect(tested.stderr).toContain('test is successful');
  });
});

async function peerCertificate(
  server: Server,
  version: 'TLSv1.2' | 'TLSv1.3',
): Promise<Pick<PeerCertificate, 'raw'>> {
  const { port } = server.address() as AddressInfo;
  return await new Promise((resolve, reject) => {
    const options = { minVersion: version, maxVersion: version, rejectUnauthorized: false } as const;
    const socket = connect({ host: '127.0.0.1', port, servername: 'example.com', ...options }, () => {
      const peer = socket.getPeerCertificate();
      socket.destroy();
      resolve(peer);
    });
    socket.on('error', reject);
  });
}
