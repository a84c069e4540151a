import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface Forged {
  readonly file: string;
  readonly keyFile: string;
  readonly der: Buffer;
  readonly sha256: string;
}

export interface ForgedParts {
  /** Omitted: self-signed. */
  readonly by?: Forged;
  /** Omitted: a new key. */
  readonly key?: 'p256' | 'rsa1024' | 'p224' | Forged;
  readonly isCa?: boolean;
  readonly dnsNames?: readonly string[];
  readonly digest?: 'sha256' | 'sha1';
  readonly days?: number;
  /** Of the subject; the files have another name for each certificate. */
  readonly name?: string;
  readonly usage?: string;
}

const newKey = {
  p256: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  p224: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:secp224r1'],
  rsa1024: ['-newkey', 'rsa:1024'],
} as const;

/** Certificates made by OpenSSL, which also is what their paths are compared with. */
export class Forge {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'certwright-forge-'));
  private count = 0;

  make(parts: ForgedParts = {}): Forged {
    const { by, key = 'p256', isCa = false, dnsNames = [], digest = 'sha256', days = 90, usage } = parts;
    const file = path.join(this.folder, `${this.count++}`);
    const keyFile = typeof key === 'object' ? key.keyFile : `${file}.key`;
    const subject = ['-subj', `/CN=${parts.name ?? path.basename(file)}`];
    const keys = typeof key === 'object' ? ['-key', keyFile] : [...newKey[key], '-nodes', '-keyout', keyFile];
    const extensions = [
      isCa ? 'basicConstraints=critical,CA:TRUE' : 'basicConstraints=CA:FALSE',
      ...(dnsNames.length > 0 ? [`subjectAltName=${dnsNames.map((name) => `DNS:${name}`).join(',')}`] : []),
      ...(usage === undefined ? [] : [`extendedKeyUsage=${usage}`]),
    ];
    writeFileSync(`${file}.extensions`, `${extensions.join('\n')}\n`);
    this.openssl('req', '-new', ...keys, ...subject, '-out', `${file}.csr`);
    const signer = by === undefined ? ['-key', keyFile] : ['-CA', by.file, '-CAkey', by.keyFile];
    this.openssl(
      ...['x509', '-req', '-in', `${file}.csr`, `-${digest}`, '-days', String(days), '-extfile'],
      ...[`${file}.extensions`, ...signer, '-set_serial', String(1_000 + this.count), '-out', `${file}.pem`],
    );
    const certificate = new X509Certificate(readFileSync(`${file}.pem`));
    const sha256 = certificate.fingerprint256.replaceAll(':', '').toLowerCase();
    return { file: `${file}.pem`, keyFile, der: certificate.raw, sha256 };
  }

  /** Whether OpenSSL finds a path. */
  verifies(leaf: Forged, presented: readonly Forged[], roots: readonly Forged[]): boolean {
    const bundle = (name: string, certificates: readonly Forged[]) => {
      const file = path.join(this.folder, name);
      writeFileSync(file, certificates.map((each) => readFileSync(each.file, 'utf8')).join(''));
      return file;
    };
    const trusted = ['-no-CApath', '-no-CAstore', '-CAfile', bundle('roots', roots)];
    const untrusted = presented.length > 0 ? ['-untrusted', bundle('presented', presented)] : [];
    try {
      this.openssl('verify', ...trusted, ...untrusted, leaf.file);
      return true;
    } catch {
      return false;
    }
  }

  dispose(): void {
    rmSync(this.folder, { recursive: true });
  }

  private openssl(...args: readonly string[]): void {
    execFileSync('openssl', args, { cwd: this.folder, stdio: 'pipe' });
  }
}
