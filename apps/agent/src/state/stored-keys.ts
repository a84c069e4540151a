import path from 'node:path';
import { ensureFolder, replaceFile, secret } from '../files/durable';
import type { Files } from '../files/files';
import { readJson } from './json-file';

export interface StoredKey {
  /** SHA-256 over the DER SubjectPublicKeyInfo. */
  readonly spkiSha256: string;
  readonly order: string;
  readonly createdAt: Date;
  /** DER; null for a key that csr_command keeps. */
  readonly pkcs8: Uint8Array | null;
  /** DER of the CSR, with the task that it was made for, of a key of this host: the same task gets the same CSR. */
  readonly csr: { readonly task: string; readonly der: Uint8Array } | null;
}

interface StoredJson {
  readonly order: string;
  readonly created: string;
  readonly pkcs8: string | null;
  readonly csr?: { readonly task: string; readonly der: string };
}

/** Private keys of certificates, by the hash of their public key: a certificate finds its key, current or not. */
export class StoredKeys {
  private readonly folder: string;

  constructor(
    private readonly files: Files,
    state: string,
  ) {
    this.folder = path.join(state, 'keys');
  }

  /** Durable when it returns: a CSR leaves the host only afterwards. */
  add(key: StoredKey): void {
    ensureFolder(this.files, this.folder);
    const json: StoredJson = {
      order: key.order,
      created: key.createdAt.toISOString(),
      pkcs8: key.pkcs8 === null ? null : Buffer.from(key.pkcs8).toString('base64'),
      ...(key.csr === null
        ? {}
        : { csr: { task: key.csr.task, der: Buffer.from(key.csr.der).toString('base64') } }),
    };
    replaceFile(this.files, this.file(key.spkiSha256), Buffer.from(`${JSON.stringify(json)}\n`), secret);
  }

  find(spkiSha256: string): StoredKey | null {
    const json = readJson<StoredJson>(this.files, this.file(spkiSha256));
    if (json === null) return null;
    return {
      spkiSha256,
      order: json.order,
      createdAt: new Date(json.created),
      pkcs8: json.pkcs8 === null ? null : Buffer.from(json.pkcs8, 'base64'),
      csr: json.csr === undefined ? null : { task: json.csr.task, der: Buffer.from(json.csr.der, 'base64') },
    };
  }

  /** Keys that were made for this task before a crash. */
  ofTask(order: string, task: string): StoredKey[] {
    return this.all()
      .map((spkiSha256) => this.find(spkiSha256))
      .filter((key) => key !== null)
      .filter((key) => key.order === order && key.csr?.task === task);
  }

  all(): string[] {
    if (this.files.state(this.folder) === null) return [];
    return this.files
      .list(this.folder)
      .filter((name) => /^[0-9a-f]{64}\.json$/.test(name))
      .map((name) => name.slice(0, 64));
  }

  /** Keys that an interrupted run did not finish writing: nothing was sent about them. */
  removeLeftovers(): void {
    if (this.files.state(this.folder) === null) return;
    for (const name of this.files.list(this.folder))
      if (name.startsWith('.')) this.files.remove(path.join(this.folder, name));
  }

  remove(spkiSha256: string): void {
    this.files.remove(this.file(spkiSha256));
    this.files.syncFolder(this.folder);
  }

  private file(spkiSha256: string): string {
    return path.join(this.folder, `${spkiSha256}.json`);
  }
}
