import type { DataSource } from 'typeorm';
import { parseCertificate } from '../certificate-values';
import type { CaKeys } from '../keys/ca-key';
import { type CaRecords, inCeremony } from './ca-records';
import { intermediateRequest, intermediateSubject } from './intermediate-request';
import { createRoot, readRootList, type Root, signIntermediate, signRootList } from './root';

/** A sandbox's root signs once and is discarded; RSA with 4096 bits would take seconds of the first start. */
const sandboxRootBits = 2048;

export interface SandboxCa {
  readonly name: string;
  /** http URL under which certificates and revocation lists are published, without a slash at the end. */
  readonly publicationUrl: string;
}

/**
 * Creates root and intermediate of a sandbox, unless it has them. The root signs the intermediate, and a revocation list
 * that ends with it; then its key is discarded.
 *
 * @returns whether they were created
 */
export async function createSandboxCa(
  database: DataSource,
  keys: CaKeys,
  { name, publicationUrl }: SandboxCa,
  now: Date,
): Promise<boolean> {
  return await inCeremony(database, async (records) => {
    if ((await records.all()).length > 0) return false;
    const root = await createRoot(name, sandboxRootBits, now);
    const key = await keys.create('intermediate', []);
    const csr = await intermediateRequest(key, intermediateSubject(name, key.spki));
    const intermediate = await signIntermediate(
      root,
      csr,
      { baseUrl: publicationUrl, rootName: 'root' },
      now,
    );
    await records.add('root', root.certificate);
    await records.add('intermediate', intermediate);
    await storeListUntilEnd(records, root, intermediate, now);
    await records.activate('intermediate');
    return true;
  });
}

/** Signs a revocation list of the root that ends with the intermediate. */
export async function storeListUntilEnd(
  records: CaRecords,
  root: Root,
  intermediate: Buffer,
  now: Date,
): Promise<void> {
  const der = await signRootList(root, [], now, parseCertificate(intermediate).notAfter.value);
  await records.storeRevocationList('root', { der, ...(await readRootList(der, root.certificate)) });
}
