import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface KeyAndCertificate {
  readonly key: string;
  readonly certificate: string;
}

export interface Leaf {
  /** In the syntax of OpenSSL's configuration: `URI:spiffe://…`, `DNS:localhost, IP:127.0.0.1`. Absent: none. */
  readonly names?: string;
  readonly use?: 'clientAuth' | 'serverAuth';
  /** Negative: expired since yesterday. */
  readonly days?: number;
}

export const spiffe = (name: string): string => `spiffe://certwright.internal/${name}`;

const ecKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout'];

/** A private root and its certificates, created by OpenSSL. */
export class TestAuthority {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'certwright-gateway-'));
  readonly root: string;

  constructor() {
    this.#openssl(
      'req',
      '-x509',
      ...ecKey,
      'root.key',
      '-out',
      'root.pem',
      '-subj',
      '/CN=root',
      '-days',
      '10',
    );
    this.root = this.#read('root.pem');
  }

  server(): KeyAndCertificate {
    return this.certify({ names: 'DNS:localhost, IP:127.0.0.1', use: 'serverAuth' });
  }

  client(name: string): KeyAndCertificate {
    return this.certify({ names: `URI:${spiffe(name)}` });
  }

  certify({ names, use = 'clientAuth', days = 5 }: Leaf): KeyAndCertificate {
    this.#openssl('req', '-new', ...ecKey, 'leaf.key', '-out', 'leaf.csr', '-subj', '/');
    const extensions = [
      `extendedKeyUsage=${use}`,
      ...(names === undefined ? [] : [`subjectAltName=${names}`]),
    ];
    writeFileSync(path.join(this.folder, 'extensions'), `${extensions.join('\n')}\n`);
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
