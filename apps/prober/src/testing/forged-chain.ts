import { createHash, X509Certificate } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface ForgedCertificate {
  /** PEM. */
  readonly key: string;
  readonly pem: string;
  /** Over the DER, lower-case hex. */
  readonly sha256: string;
}

/** Certificates made by OpenSSL. @param issuer omitted: self-signed */
export function forgeCertificate(name: string, issuer?: ForgedCertificate): ForgedCertificate {
  const folder = mkdtempSync(path.join(tmpdir(), 'certwright-prober-'));
  const openssl = (...args: readonly string[]) =>
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  try {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'key'];
    const subject = ['-subj', `/CN=${name}`];
    if (issuer === undefined)
      openssl('req', '-x509', ...key, ...subject, '-days', '5', '-out', 'certificate');
    else {
      writeFileSync(path.join(folder, 'issuer'), issuer.pem + issuer.key);
      writeFileSync(path.join(folder, 'extensions'), 'basicConstraints=CA:TRUE\n');
      openssl('req', '-new', ...key, ...subject, '-out', 'request');
      const by = ['-CA', 'issuer', '-CAkey', 'issuer', '-CAcreateserial', '-extfile', 'extensions'];
      openssl('x509', '-req', ...by, '-in', 'request', '-days', '5', '-out', 'certificate');
    }
    const read = (file: string) => readFileSync(path.join(folder, file), 'utf8');
    const pem = read('certificate');
    const sha256 = createHash('sha256').update(new X509Certificate(pem).raw).digest('hex');
    return { key: read('key'), pem, sha256 };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
