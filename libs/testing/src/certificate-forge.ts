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
  readonly addresses?: readonly string[];
  readonly digest?: 'sha256' | 'sha1';
  readonly days?: number;
  /** Of a certificate that another one signs; its days are counted from there. Default: now. */
  readonly notBefore?: Date;
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
    const { by, key = 'p256', isCa = false, digest = 'sha256', days = 90, usage } = parts;
    const file = path.join(this.folder, `${this.count++}`);
    const keyFile = typeof key === 'object' ? key.keyFile : `${file}.key`;
    const subject = ['-subj', `/CN=${parts.name ?? path.basename(file)}`];
    const keys = typeof key === 'object' ? ['-key', keyFile] : [...newKey[key], '-nodes', '-keyout', keyFile];
    const { dnsNames = [], addresses = [] } = parts;
    const names = [...dnsNames.map((name) => `DNS:${name}`), ...addresses.map((address) => `IP:${address}`)];
    const extensions = [
      isCa ? 'basicConstraints=critical,CA:TRUE' : 'basicConstraints=CA:FALSE',
      ...(names.length > 0 ? [`subjectAltName=${names.join(',')}`] : []),
      ...(usage === undefined ? [] : [`extendedKeyUsage=${usage}`]),
    ];
    writeFileSync(`${file}.extensions`, `${extensions.join('\n')}\n`);
    this.openssl('req', '-new', ...keys, ...subject, '-out', `${file}.csr`);
    const common = ['-in', `${file}.csr`, '-extfile', `${file}.extensions`, '-out', `${file}.pem`];
    if (by !== undefined && parts.notBefore !== undefined) {
      this.signAsOf(parts.notBefore, days, [
        ...common,
        '-cert',
        by.file,
        '-keyfile',
        by.keyFile,
        '-md',
        digest,
      ]);
    } else {
      const signer = by === undefined ? ['-key', keyFile] : ['-CA', by.file, '-CAkey', by.keyFile];
      const serial = ['-set_serial', String(1_000 + this.count)];
      this.openssl('x509', '-req', ...common, ...signer, ...serial, `-${digest}`, '-days', String(days));
    }
    const certificate = new X509Certificate(readFileSync(`${file}.pem`));
    const sha256 = certificate.fingerprint256.replaceAll(':', '').toLowerCase();
    return { file: `${file}.pem`, keyFile, der: certificate.raw, sha256 };
  }

  /** `openssl x509` has no beginning other than now before OpenSSL 3.4. */
  private signAsOf(notBefore: Date, days: number, args: readonly string[]): void {
    const config = path.join(this.folder, 'ca.conf');
    const database = path.join(this.folder, 'database');
    writeFileSync(
      config,
      `[ca]\ndefault_ca=forge\n[forge]\ndatabase=${database}\nnew_certs_dir=${this.folder}\n` +
        'rand_serial=yes\npolicy=any\nunique_subject=no\n[any]\ncommonName=supplied\n',
    );
    writeFileSync(database, '');
    const notAfter = new Date(notBefore.getTime() + days * 86_400_000);
    const validity = ['-startdate', caTime(notBefore), '-enddate', caTime(notAfter)];
    this.openssl('ca', '-batch', '-notext', '-config', config, ...validity, ...args);
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

/** YYYYMMDDHHMMSSZ. */
const caTime = (time: Date): string => `${time.toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`;
