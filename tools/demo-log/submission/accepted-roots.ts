import { createHash, X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { decodePem } from '@certwright/pki';

export interface Root {
  readonly der: Buffer;
  readonly x509: X509Certificate;
}

/** Maximum number of certificates in one file. */
const maxRoots = 200;

/** Files are read again after this time. */
const restMs = 500;

/** The roots that chains may end at: fixed ones, and those in files, which may change or be created at any time. */
export class AcceptedRoots {
  private readonly fixed: readonly Root[];
  private readonly files: readonly RootsFile[];
  private byFingerprint = new Map<string, Root>();
  private lookedAt = -Infinity;
  private looking: Promise<void> | null = null;

  /** @param onFault called once for each unreadable version of a file, whose previous content stays valid */
  constructor(
    fixed: readonly Buffer[],
    files: readonly string[],
    private readonly now: () => number,
    onFault: (message: string) => void,
  ) {
    this.fixed = fixed.map(rootOf);
    this.files = files.map((file) => new RootsFile(file, onFault));
  }

  /** By SHA-256 over the certificate, hexadecimal. */
  async current(): Promise<ReadonlyMap<string, Root>> {
    const now = this.now();
    if (Math.abs(now - this.lookedAt) >= restMs) {
      this.lookedAt = now;
      this.looking ??= this.look().finally(() => (this.looking = null));
    }
    // Concurrent callers wait too, because the known roots may be outdated.
    await this.looking;
    return this.byFingerprint;
  }

  private async look(): Promise<void> {
    const read = await Promise.all(this.files.map((file) => file.current()));
    this.byFingerprint = new Map(
      [...this.fixed, ...read.flat()].map((root) => [fingerprintOf(root.der), root]),
    );
  }
}

export function fingerprintOf(der: Uint8Array): string {
  return createHash('sha256').update(der).digest('hex');
}

/** Certificates in PEM. */
class RootsFile {
  private version = '';
  private roots: readonly Root[] = [];

  constructor(
    private readonly file: string,
    private readonly onFault: (message: string) => void,
  ) {}

  async current(): Promise<readonly Root[]> {
    const version = await stat(this.file).then(
      ({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`,
      () => '',
    );
    if (version === '' || version === this.version) return this.roots;
    this.version = version;
    try {
      const pem = decodePem(await readFile(this.file, 'utf8'), maxRoots);
      if (!pem.ok) throw new Error(pem.message);
      this.roots = pem.blocks.map(({ der }) => rootOf(Buffer.from(der)));
    } catch (error) {
      this.onFault(`${this.file} holds no certificates in PEM: ${(error as Error).message}`);
    }
    return this.roots;
  }
}

function rootOf(der: Buffer): Root {
  return { der, x509: new X509Certificate(der) };
}
