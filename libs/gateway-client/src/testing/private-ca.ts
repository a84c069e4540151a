import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface KeyAndCertificate {
  readonly key: string;
  readonly cert: string;
}

/** A private CA and whom it certifies, made by OpenSSL. */
export class PrivateCa {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'certwright-gateway-'));
  readonly pem: string;

  constructor() {
    this.#openssl('req', '-x509', ...newKey('ca.key'), '-out', 'ca.pem', '-subj', '/CN=ca', '-days', '10');
    this.pem = this.#read('ca.pem');
  }

  /** @param subjectAltName such as `DNS:localhost` or `URI:spiffe://certwright.internal/orders-v3` */
  certify(subjectAltName: string): KeyAndCertificate {
    this.#openssl('req', '-new', ...newKey('leaf.key'), '-out', 'leaf.csr', '-subj', '/');
    writeFileSync(path.join(this.#folder, 'names'), `subjectAltName=${subjectAltName}\n`);
    const issuer = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'];
    this.#openssl('x509', '-req', ...issuer, '-in', 'leaf.csr', '-extfile', 'names', '-out', 'leaf.pem');
    return { key: this.#read('leaf.key'), cert: this.#read('leaf.pem') };
  }

  dispose(): void {
    rmSync(this.#folder, { recursive: true });
  }

  #openssl(...args: readonly string[]): void {
    execFileSync('openssl', args, { cwd: this.#folder, stdio: 'pipe' });
  }

  #read(name: string): string {
    return readFileSync(path.join(this.#folder, name), 'utf8');
  }
}

const newKey = (file: string): readonly string[] =>
  ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout'].concat(file);
