import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import path from 'node:path';
import { ensureFolder, fileFault, replaceFile, secret } from '../files/durable';
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
  /** SHA-256 of the public key → why its file cannot be used. */
  private readonly faults = new Map<string, string>();

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
    this.faults.delete(key.spkiSha256);
  }

  /** @returns null also when its file cannot be used, which `problems` names: another host may have sealed the key */
  find(spkiSha256: string): StoredKey | null {
    this.faults.delete(spkiSha256);
    return this.read(spkiSha256, (json) => keyOf(spkiSha256, json));
  }

  /** Keys that were made for this task before a crash. */
  ofTask(order: string, task: string): StoredKey[] {
    const isOfTask = (json: StoredJson) => json.order === order && json.csr?.task === task;
    return this.all()
      .filter((spkiSha256) => this.read(spkiSha256, isOfTask) === true)
      .map((spkiSha256) => this.find(spkiSha256))
      .filter((key) => key !== null);
  }

  /** What is wrong with files of keys, as far as they were needed. */
  problems(): readonly string[] {
    // They may have been restored or removed since.
    for (const spkiSha256 of [...this.faults.keys()]) this.find(spkiSha256);
    return [...this.faults.values()];
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

  private read<T>(spkiSha256: string, reader: (json: StoredJson) => T): T | null {
    const file = this.file(spkiSha256);
    try {
      const json = readJson<StoredJson>(this.files, file);
      return json === null ? null : reader(json);
    } catch (error) {
      const isOfDisk = error instanceof Error && 'syscall' in error;
      const problem = isOfDisk
        ? fileFault(Object.assign(error, { path: file }))
        : `${file} is damaged; ${whatToDo}`;
      this.faults.set(spkiSha256, problem);
      return null;
    }
  }

  private file(spkiSha256: string): string {
    return path.join(this.folder, `${spkiSha256}.json`);
  }
}

const whatToDo = 'restore it from a backup, or remove it and call rekey for the order that has no_key';

/** @throws Error when it is not that key */
function keyOf(spkiSha256: string, { order, created, pkcs8, csr }: StoredJson): StoredKey {
  const key: StoredKey = {
    spkiSha256,
    order,
    createdAt: new Date(created),
    pkcs8: pkcs8 === null ? null : Buffer.from(pkcs8, 'base64'),
    csr: csr === undefined ? null : { task: csr.task, der: Buffer.from(csr.der, 'base64') },
  };
  if (key.pkcs8 === null) return key;
  const privateKey = createPrivateKey({ key: Buffer.from(key.pkcs8), format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  if (createHash('sha256').update(spki).digest('hex') !== spkiSha256) throw new Error('another key');
  return key;
}
