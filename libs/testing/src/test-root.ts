import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** PEM. */
export interface KeyAndCertificate {
  readonly key: string;
  readonly certificate: string;
}

export interface TestLeaf {
  /** In the syntax of OpenSSL's configuration: `URI:spiffe://…`, `DNS:localhost, IP:127.0.0.1`. Absent: none. */
  readonly names?: string;
  /** Absent: any. */
  readonly use?: 'clientAuth' | 'serverAuth';
  /** Negative: expired since yesterday. */
  readonly days?: number;
}

const ecKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout'];

/** A private root and its certificates, created by OpenSSL. */
export class TestRoot {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'certwright-root-'));
  readonly pem: string;

  constructor(name = 'root') {
    const root = ['root.key', '-out', 'root.pem', '-subj', `/CN=${name}`, '-days', '10'];
    this.#openssl('req', '-x509', ...ecKey, ...root);
    this.pem = this.#read('root.pem');
  }

  certify({ names, use, days = 5 }: TestLeaf): KeyAndCertificate {
    this.#openssl('req', '-new', ...ecKey, 'leaf.key', '-out', 'leaf.csr', '-subj', '/');
    const extensions = [
      ...(use === undefined ? [] : [`extendedKeyUsage=${use}`]),
      ...(names === undefined ? [] : [`subjectAltName=${names}`]),
    ];
    this.file('extensions', `${extensions.join('\n')}\n`);
    const issuer = ['-CA', 'root.pem', '-CAkey', 'root.key', '-CAcreateserial'];
    const leaf = ['-in', 'leaf.csr', '-extfile', 'extensions', '-days', String(days), '-out', 'leaf.pem'];
    this.#openssl('x509', '-req', ...issuer, ...leaf);
    return { key: this.#read('leaf.key'), certificate: this.#read('leaf.pem') };
  }

  /** Writes a text into a file of its directory, and returns the path. */
  file(name: string, text: string): string {
    const file = path.join(this.folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  }

  dispose(): void {
    rmSync(this.folder, { recursive: true });
  }

  #openssl(...args: readonly string[]): void {
    execFileSync('openssl', args, { cwd: this.folder, stdio: 'pipe' });
  }

  #read(name: string): string {
    return readFileSync(path.join(this.folder, name), 'utf8');
  }
}
