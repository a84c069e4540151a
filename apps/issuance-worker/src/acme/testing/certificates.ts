import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** PEM: a root and a certificate for localhost that it issued, made with OpenSSL. */
export interface LocalCertificate {
  readonly root: string;
  readonly key: string;
  readonly certificate: string;
}

export function makeLocalCertificate(): LocalCertificate {
  const folder = mkdtempSync(path.join(tmpdir(), 'certwright-acme-'));
  const openssl = (...args: readonly string[]) =>
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const read = (name: string) => readFileSync(path.join(folder, name), 'utf8');
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout'];
  try {
    openssl(
      'req',
      '-x509',
      ...newKey,
      'root.key',
      '-out',
      'root.pem',
      '-subj',
      '/CN=Fake root',
      '-days',
      '9',
    );
    openssl('req', '-new', ...newKey, 'leaf.key', '-out', 'leaf.csr', '-subj', '/');
    writeFileSync(path.join(folder, 'names'), 'subjectAltName=DNS:localhost,DNS:one.example.com\n');
    const issuer = ['-CA', 'root.pem', '-CAkey', 'root.key', '-CAcreateserial'];
    openssl(
      'x509',
      '-req',
      ...issuer,
      '-in',
      'leaf.csr',
      '-extfile',
      'names',
      '-days',
      '9',
      '-out',
      'leaf.pem',
    );
    return { root: read('root.pem'), key: read('leaf.key'), certificate: read('leaf.pem') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
