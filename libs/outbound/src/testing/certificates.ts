import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface KeyAndCertificate {
  readonly key: string;
  readonly cert: string;
}

/** A private root that issues certificates with OpenSSL. */
export class TestRoot {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'certwright-outbound-'));
  readonly pem: string;

  constructor() {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'root.key'];
    this.#openssl('req', '-x509', ...key, '-out', 'root.pem', '-subj', '/CN=root', '-days', '10');
    this.pem = this.#read('root.pem');
  }

  /** @param days negative: expired since yesterday */
  certify(dnsName: string, days = 5): KeyAndCertificate {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'leaf.key'];
    this.#openssl('req', '-new', ...key, '-out', 'leaf.csr', '-subj', '/');
    writeFileSync(path.join(this.#folder, 'names'), `subjectAltName=DNS:${dnsName}\n`);
    const issuer = ['-CA', 'root.pem', '-CAkey', 'root.key', '-CAcreateserial'];
    const leaf = ['-in', 'leaf.csr', '-extfile', 'names', '-days', String(days), '-out', 'leaf.pem'];
    this.#openssl('x509', '-req', ...issuer, ...leaf);
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
