import { readFile, stat } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import { type CaKey, CaKeys } from '@certwright/endpoint-checks';
import { readCertificate } from '@certwright/pki';
import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../config';

/** The CAs that visitors trust: the roots of Mozilla's list that Node.js contains, and those of a file. */
@Injectable()
export class TrustedRoots {
  private readonly file: string | null;
  private mozilla: readonly CaKey[] | null = null;
  private kept: { readonly roots: CaKeys; readonly version: string } | null = null;

  constructor(@Inject(Config) config: Pick<Config, 'TRUSTED_ROOTS_FILE'>) {
    this.file = config.TRUSTED_ROOTS_FILE;
  }

  /**
   * Reads the file again when it changes.
   *
   * @throws Error when it cannot be read or has no certificate: without it, good endpoints would be reported as untrusted
   */
  async current(): Promise<CaKeys> {
    const version = this.file === null ? '' : String((await stat(this.file)).mtimeMs);
    if (this.kept?.version === version) return this.kept.roots;
    this.mozilla ??= rootCertificates.flatMap(keysOf);
    const own = this.file === null ? [] : keysOf(await readFile(this.file, 'utf8'));
    if (this.file !== null && own.length === 0)
      throw new Error(`TRUSTED_ROOTS_FILE: ${this.file} contains no certificate in PEM`);
    this.kept = { roots: new CaKeys([...this.mozilla, ...own]), version };
    return this.kept.roots;
  }
}

/** Files of roots have texts between the certificates. */
function keysOf(pem: string): readonly CaKey[] {
  return [...pem.matchAll(certificate)].flatMap(([, base64 = '']) => {
    const reading = readCertificate(Buffer.from(base64, 'base64'));
    return reading.ok
      ? [{ nameDer: reading.certificate.subject.der, spkiDer: reading.certificate.spkiDer }]
      : [];
  });
}

const certificate = /-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----/g;
