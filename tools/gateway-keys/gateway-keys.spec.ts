import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, createServer, type PeerCertificate, type TLSSocket } from 'node:tls';
import { once } from 'node:events';
import { clients, ensureGatewayKeys, identityOf } from './gateway-keys';

const dayMs = 24 * 60 * 60 * 1_000;

describe('the keys and certificates of the gateway', () => {
  let folder: string;
  const read = (file: string) => readFileSync(path.join(folder, file), 'utf8');
  const openssl = (...args: readonly string[]) =>
    execFileSync('openssl', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'certwright-gateway-keys-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('are valid for OpenSSL, each only for its purpose', () => {
    ensureGatewayKeys(folder, new Date());
    const verify = (purpose: string, file: string) =>
      openssl('verify', '-x509_strict', '-CAfile', 'ca.pem', '-purpose', purpose, file);
    expect(verify('sslserver', 'server.pem')).toContain('server.pem: OK');
    for (const client of clients) {
      expect(verify('sslclient', `${client}.pem`)).toContain('OK');
      expect(openssl('x509', '-in', `${client}.pem`, '-noout', '-ext', 'subjectAltName')).toContain(
        `URI:${identityOf(client)}`,
      );
      expect(() => verify('sslserver', `${client}.pem`)).toThrow();
    }
    expect(() => verify('sslclient', 'server.pem')).toThrow();
  });

  it('open a mutually authenticated connection', async () => {
    ensureGatewayKeys(folder, new Date());
    const ca = read('ca.pem');
    const server = createServer({ key: read('server.key'), cert: read('server.pem'), ca, requestCert: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const accepted = once(server, 'secureConnection') as Promise<[TLSSocket]>;
    const client = connect({ port, host: '127.0.0.1', ca, key: read('admin.key'), cert: read('admin.pem') });
    await once(client, 'secureConnect');
    expect(client.authorized).toBe(true);
    const [socket] = await accepted;
    const peer: PeerCertificate = socket.getPeerCertificate();
    expect(peer.subjectaltname).toBe(`URI:${identityOf('admin')}`);
    client.destroy();
    server.close();
  });

  it('are kept while they are valid, and only the owner can read secret files', () => {
    expect(ensureGatewayKeys(folder, new Date())).toContain('ca.key');
    expect(ensureGatewayKeys(folder, new Date())).toEqual([]);
    for (const file of readdirSync(folder)) expect(statSync(path.join(folder, file)).mode & 0o077).toBe(0);
  });

  it('are replaced after two thirds of their lifetime, or when key and certificate do not match', () => {
    ensureGatewayKeys(folder, new Date());
    const later = new Date(Date.now() + 250 * dayMs);
    expect(ensureGatewayKeys(folder, later)).toEqual(
      ['server', ...clients].flatMap((name) => [`${name}.key`, `${name}.pem`]),
    );
    writeFileSync(path.join(folder, 'admin.key'), read('orders-v3.key'));
    expect(ensureGatewayKeys(folder, later)).toEqual(['admin.key', 'admin.pem']);
  });

  it('are not replaced when the key of the CA is kept elsewhere', () => {
    ensureGatewayKeys(folder, new Date());
    rmSync(path.join(folder, 'ca.key'));
    const before = readdirSync(folder).map(read);
    expect(() => ensureGatewayKeys(folder, new Date())).toThrow(/ca\.key is missing/);
    expect(readdirSync(folder).map(read)).toEqual(before);
  });

  it('get the certificate of the CA again, if only that is lost', () => {
    ensureGatewayKeys(folder, new Date());
    rmSync(path.join(folder, 'ca.pem'));
    expect(ensureGatewayKeys(folder, new Date())).toEqual(['ca.pem']);
    expect(openssl('verify', '-x509_strict', '-CAfile', 'ca.pem', 'server.pem')).toContain('OK');
  });
});
