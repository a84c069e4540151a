import { execFileSync } from 'node:child_process';
import path from 'node:path';

/** A CSR with a new P-256 key, by OpenSSL. @returns DER in base64, as the API takes it */
export function csrFor(dnsNames: readonly string[], folder: string): string {
  const key = path.join(folder, 'order.key');
  const curve = ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'];
  execFileSync('openssl', ['genpkey', ...curve, '-out', key]);
  const names = `subjectAltName=${dnsNames.map((name) => `DNS:${name}`).join(',')}`;
  const args = ['req', '-new', '-key', key, '-subj', '/', '-addext', names, '-outform', 'DER'];
  return execFileSync('openssl', args).toString('base64');
}
