import type { DataSource } from 'typeorm';
import { BuiltInCa } from '../certificate-authorities/built-in/built-in-ca';
import { CaIssuers } from '../certificate-authorities/built-in/ca-issuers';
import { CaSignings } from '../certificate-authorities/built-in/ca-signings';
import { createSandboxCa } from '../certificate-authorities/built-in/ceremony/sandbox-ca';
import { Intermediates } from '../certificate-authorities/built-in/intermediates';
import type { CaKeys } from '../certificate-authorities/built-in/keys/ca-key';
import { KeyFiles } from '../certificate-authorities/built-in/keys/key-files';
import { RevocationLists } from '../certificate-authorities/built-in/revocation-lists';

export interface BuiltInCaOptions {
  /** Connection of the operator, who creates the CA. */
  readonly owner: DataSource;
  /** Connection of the worker, which issues. */
  readonly worker: DataSource;
  readonly keys: CaKeys;
  readonly name?: string;
  readonly publicationUrl?: string;
}

export interface OpenedCa {
  readonly ca: BuiltInCa;
  readonly intermediates: Intermediates;
}

/** The built-in CA of a worker; created on the first call for a database. */
export async function openBuiltInCa({
  owner,
  worker,
  keys,
  name = 'Spec',
  publicationUrl = 'http://127.0.0.1:4310/ca',
}: BuiltInCaOptions): Promise<OpenedCa> {
  await createSandboxCa(owner, keys, { name, publicationUrl }, new Date());
  const intermediates = new Intermediates(new CaIssuers(worker), keys, publicationUrl);
  await intermediates.refresh();
  return {
    ca: new BuiltInCa(intermediates, new CaSignings(worker), new RevocationLists(worker)),
    intermediates,
  };
}

/** A CA for a worker that runs as a process: with the keys in this folder, as BUILT_IN_CA_DIR. */
export async function createCaIn(folder: string, owner: DataSource, publicationUrl?: string): Promise<void> {
  await openBuiltInCa({
    owner,
    worker: owner,
    keys: new KeyFiles(folder),
    ...(publicationUrl === undefined ? {} : { publicationUrl }),
  });
}
