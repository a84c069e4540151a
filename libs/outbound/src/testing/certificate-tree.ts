import { X509Certificate } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export type KeyKind = 'p256' | 'p384' | 'rsa1024' | 'rsa2048' | 'ed25519';

/** A certificate with its private key. */
export interface Certified {
  readonly name: string;
  /** Paths, for programs. */
  readonly keyFile: string;
  readonly certificateFile: string;
  readonly der: Buffer;
}

const newKey = {
  p256: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  p384: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384'],
  rsa1024: ['-newkey', 'rsa:1024'],
  rsa2048: ['-newkey', 'rsa:2048'],
  ed25519: ['-newkey', 'ed25519'],
} as const satisfies Record<KeyKind, readonly string[]>;

/** Roots, intermediates and leaves, made by OpenSSL; each has its name alone in the subject. */
export class CertificateTree {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'certwright-tree-'));
  #serial = 1_000;

  root(name: string, key: KeyKind = 'p256'): Certified {
    const out = ['-nodes', '-keyout', `${name}.key`, '-out', `${name}.pem`, '-days', '10'];
    this.#openssl('req', '-x509', ...newKey[key], ...out, '-subj', `/CN=${name}`);
    return this.#made(name, name);
  }

  /** @param sameKeyAs a certificate of the same subject and key by another issuer */
  certify(
    name: string,
    issuer: Certified,
    { key = 'p256', sameKeyAs }: { readonly key?: KeyKind; readonly sameKeyAs?: Certified } = {},
  ): Certified {
    const file = `${name}-by-${issuer.name}`;
    const subject = ['-subj', `/CN=${name}`, '-out', `${file}.csr`];
    const keys =
      sameKeyAs === undefined
        ? [...newKey[key], '-nodes', '-keyout', `${name}.key`]
        : ['-key', sameKeyAs.keyFile];
    this.#openssl('req', '-new', ...keys, ...subject);
    writeFileSync(path.join(this.folder, 'extensions'), 'basicConstraints=CA:TRUE\n');
    const by = [
      '-CA',
      issuer.certificateFile,
      '-CAkey',
      issuer.keyFile,
      '-set_serial',
      String(this.#serial++),
    ];
    const from = ['-in', `${file}.csr`, '-extfile', 'extensions', '-days', '5', '-out', `${file}.pem`];
    this.#openssl('x509', '-req', ...by, ...from);
    return this.#made(name, file);
  }

  dispose(): void {
    rmSync(this.folder, { recursive: true });
  }

  #made(name: string, file: string): Certified {
    const certificateFile = path.join(this.folder, `${file}.pem`);
    const der = new X509Certificate(readFileSync(certificateFile)).raw;
    return { name, keyFile: path.join(this.folder, `${name}.key`), certificateFile, der };
  }

  #openssl(...args: readonly string[]): void {
    execFileSync('openssl', args, { cwd: this.folder, stdio: 'pipe' });
  }
}
