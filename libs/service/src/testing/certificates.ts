import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface KeyAndCertificate {
  readonly key: string;
  readonly certificate: string;
}

const ecKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout'];

/** A private root that issues certificates with OpenSSL. */
export class TestRoot {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'certwright-service-'));
  readonly pem: string;

  constructor() {
    const root = ['root.key', '-out', 'root.pem', '-subj', '/CN=root', '-days', '10'];
    this.#openssl('req', '-x509', ...ecKey, ...root);
    this.pem = this.#read('root.pem');
  }

  /** @param days negative: expired since yesterday */
  certify(use: 'clientAuth' | 'serverAuth', days = 5): KeyAndCertificate {
    this.#openssl('req', '-new', ...ecKey, 'leaf.key', '-out', 'leaf.csr', '-subj', '/');
    const extensions = `subjectAltName=IP:127.0.0.1\nextendedKeyUsage=${use}\n`;
    writeFileSync(path.join(this.#folder, 'extensions'), extensions);
    const issuer = ['-CA', 'root.pem', '-CAkey', 'root.key', '-CAcreateserial'];
    const leaf = ['-in', 'leaf.csr', '-extfile', 'extensions', '-days', String(days), '-out', 'leaf.pem'];
    this.#openssl('x509', '-req', ...issuer, ...leaf);
    return { key: this.#read('leaf.key'), certificate: this.#read('leaf.pem') };
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
