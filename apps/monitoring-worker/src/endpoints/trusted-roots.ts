import { readFile, stat } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import { type CaKey, CaKeys } from '@certwright/endpoint-checks';
import { readCertificate } from '@certwright/pki';
import { fileFault, RunningProcess } from '@certwright/service';
import { StartFault } from '@certwright/errors';
import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../config';

/** The CAs that visitors trust: the roots of Mozilla's list that Node.js contains, and those of a file. */
@Injectable()
export class TrustedRoots {
  private readonly file: string | null;
  private mozilla: readonly CaKey[] | null = null;
  private kept: { readonly roots: CaKeys; readonly version: string } | null = null;

  constructor(
    @Inject(Config) config: Pick<Config, 'TRUSTED_ROOTS_FILE'>,
    @Inject(RunningProcess) { readiness }: Pick<RunningProcess, 'readiness'>,
  ) {
    this.file = config.TRUSTED_ROOTS_FILE;
    if (this.file !== null) readiness.add('trusted roots', async () => await this.current());
  }

  /**
   * Reads the file again when it changes.
   *
   * @throws StartFault when it cannot be read or has no certificate: without it, good endpoints would be reported as untrusted
   */
  async current(): Promise<CaKeys> {
    const { file } = this;
    const version = file === null ? '' : await readable(async () => String((await stat(file)).mtimeMs));
    if (this.kept?.version === version) return this.kept.roots;
    this.mozilla ??= rootCertificates.flatMap(keysOf);
    const own = file === null ? [] : keysOf(await readable(async () => await readFile(file, 'utf8')));
    if (file !== null && own.length === 0)
      throw new StartFault('TRUSTED_ROOTS_FILE contains no certificate in PEM: write the roots into it');
    this.kept = { roots: new CaKeys([...this.mozilla, ...own]), version };
    return this.kept.roots;
  }
}

async function readable(read: () => Promise<string>): Promise<string> {
  try {
    return await read();
  } catch (error) {
    throw new StartFault(`TRUSTED_ROOTS_FILE cannot be read, so no endpoint is checked: ${fileFault(error)}`);
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
