import { verify, X509Certificate } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { isRoot, type StoredIssuer } from '../ca-issuers';
import { parseCertificate, spkiOfCertificate, subjectOf } from '../certificate-values';
import { subjectKeyIdOf } from '../extensions';
import { lastActivated, rootOf } from '../intermediates';
import type { CaKeys, IntermediateName } from '../keys/ca-key';
import { type CaRecords, inCeremony } from './ca-records';
import { intermediateFaults, publishedRoot, rootFaults } from './check-ca-certificates';
import { intermediateRequest, intermediateSubject } from './intermediate-request';
import { OtherSigner, readRootList } from './root';

export interface KeyRequest {
  readonly name: IntermediateName;
  /** DER. */
  readonly csr: Buffer;
}

/**
 * Creates the key of the first or the next intermediate, and its CSR. Repeated before the import, it returns the same.
 *
 * @param organization in the subject
 */
export async function requestIntermediate(
  records: CaRecords,
  keys: CaKeys,
  organization: string,
): Promise<KeyRequest> {
  const name = await records.nextIntermediate();
  const certified = (await records.all()).map(({ certificate }) => spkiOfDer(certificate));
  const key = await keys.create(name, certified);
  return { name, csr: await intermediateRequest(key, intermediateSubject(organization, key.spki)) };
}

/** The CSR of an existing intermediate: for a longer validity, or for another root. */
export async function requestAgain(records: CaRecords, keys: CaKeys, name: string): Promise<KeyRequest> {
  const issuer = await intermediateCalled(records, name);
  const certificate = parseCertificate(issuer.certificate);
  const owner = { name: issuer.name as IntermediateName, spki: spkiOfCertificate(certificate) };
  return { name: owner.name, csr: await intermediateRequest(await keys.open(owner), subjectOf(certificate)) };
}

export interface ImportedIntermediate {
  readonly name: IntermediateName;
  /** The name under which its root is stored and published. */
  readonly rootName: string;
  /** Another certificate of this key was stored before. */
  readonly isReplacement: boolean;
  /** It is the first one, so workers issue from it at once. */
  readonly isActive: boolean;
}

export interface Import {
  /** DER of the intermediate. */
  readonly certificate: Buffer;
  /** DER of the root that certified it; null: one that is stored. */
  readonly root: Buffer | null;
  /** CA_PUBLICATION_URL; null: the URLs in the certificate are not checked. */
  readonly publicationUrl: string | null;
}

/**
 * Checks everything about a certificate, then stores it. Workers open its key within seconds, and issue from it once it is
 * activated; the first one is activated at once.
 *
 * @throws Error that lists what is wrong; nothing is stored then
 */
export async function importIntermediate(
  database: DataSource,
  keys: CaKeys,
  { certificate, root: given, publicationUrl }: Import,
  now: Date,
): Promise<ImportedIntermediate> {
  return await inCeremony(database, async (records) => {
    const stored = await records.all();
    const root = given ?? rootOf({ certificate }, stored)?.certificate;
    if (root === undefined)
      throw new Error('No stored root certifies it. Give the certificate of its root with --root.');
    refuse(rootFaults(root, now));
    refuse(intermediateFaults(certificate, root, now));
    const knownRoot = stored.find((issuer) => isRoot(issuer) && issuer.certificate.equals(root));
    const rootName = knownRoot?.name ?? (await records.nextRoot());
    refuse(publicationFaults(certificate, publicationUrl, rootName));
    const spki = spkiOfDer(certificate);
    const same = stored.find((issuer) => !isRoot(issuer) && spkiOfDer(issuer.certificate).equals(spki));
    refuse(sameKeyFaults(certificate, same));
    const name = (same?.name ?? (await records.nextIntermediate())) as IntermediateName;
    await assertKeySigns(keys, name, spki);
    if (knownRoot === undefined) await records.add(rootName, root);
    if (same === undefined) await records.add(name, certificate);
    else await records.replace(name, certificate);
    const isFirst = lastActivated(stored) === null;
    if (isFirst) await records.activate(name);
    const isActive = isFirst || lastActivated(stored)?.name === name;
    return { name, rootName, isReplacement: same !== undefined, isActive };
  });
}

/** From now on workers issue from that intermediate; also the way back to the previous one. */
export async function activateIntermediate(records: CaRecords, name: string, now: Date): Promise<void> {
  const { certificate } = await intermediateCalled(records, name);
  const { validTo } = new X509Certificate(certificate);
  if (Date.parse(validTo) <= now.getTime()) throw new Error(`The certificate "${name}" ended ${validTo}.`);
  await records.activate(name);
}

/** For so long after an activation, a copy that was frozen may still issue from the previous intermediate, ms. */
const handOverMs = 10 * 60_000;

/**
 * Workers no longer need its key.
 *
 * @throws Error while it issues, or did so minutes ago, or its certificates need a revocation list
 */
export async function retireIntermediate(records: CaRecords, name: string, now: Date): Promise<void> {
  await intermediateCalled(records, name);
  const active = lastActivated(await records.all());
  if (active?.name === name)
    throw new Error(`Workers issue from "${name}". Activate another intermediate first.`);
  const handedOver = new Date((active?.activatedAt?.getTime() ?? 0) + handOverMs);
  if (now < handedOver)
    throw new Error(`Workers may still issue from "${name}". Retire it after ${handedOver.toISOString()}.`);
  const until = await records.retire(name);
  if (until !== null)
    throw new Error(`Certificates of "${name}" need its revocation list until ${until.toISOString()}.`);
}

/**
 * Publishes a revocation list of the root that signed it.
 *
 * @returns the name of the root
 * @throws Error when it is older than the published one, has ended, begins later, or lacks an entry of it, its number or
 *   its end
 */
export async function importRootList(records: CaRecords, der: Buffer, now: Date): Promise<string> {
  for (const root of (await records.all()).filter(isRoot)) {
    const list = await readRootList(der, root.certificate).catch((error: unknown) => {
      if (error instanceof OtherSigner) return null;
      throw error;
    });
    if (list === null) continue;
    if (list.nextUpdate.getTime() <= now.getTime())
      throw new Error(`The revocation list ended ${list.nextUpdate.toISOString()}.`);
    // Clients refuse it until then, and the next list, signed with a correct clock, would have a lower number.
    if (list.thisUpdate.getTime() > now.getTime())
      throw new Error(
        `The revocation list is not valid before ${list.thisUpdate.toISOString()}. Correct the clock of the machine with the root key, and sign it again.`,
      );
    const published = await records.revocationList(root.name);
    const before = published === null ? [] : (await readRootList(published, root.certificate)).serialNumbers;
    const missing = before.filter((serial) => !list.serialNumbers.includes(serial));
    if (missing.length > 0)
      throw new Error(
        `The revocation list lacks ${missing.join(', ')}, which the published one has. Sign it again with --revoke for each.`,
      );
    if (!(await records.storeRevocationList(root.name, { der, ...list })))
      throw new Error('The published revocation list has the same number or a higher one.');
    return root.name;
  }
  throw new Error('The file is not a revocation list of a stored root.');
}

async function intermediateCalled(records: CaRecords, name: string): Promise<StoredIssuer> {
  const issuer = await records.find(name);
  if (isRoot(issuer)) throw new Error(`"${name}" is a root. Give the name of an intermediate.`);
  return issuer;
}

function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw new Error(faults.join('\n'));
}

/** The root is published under the URL that the certificate names. */
function publicationFaults(certificate: Buffer, url: string | null, rootName: string): readonly string[] {
  const named = url === null ? null : publishedRoot(certificate, url);
  if (named === null || named === rootName) return [];
  return [
    `The intermediate names the revocation list ${url}/${named}.crl, but its root is stored as "${rootName}". Sign it again with --root-name ${rootName}.`,
  ];
}

/** The certificates of one key, and its revocation lists, have one issuer name and one key identifier. */
function sameKeyFaults(certificate: Buffer, same: StoredIssuer | undefined): readonly string[] {
  if (same === undefined) return [];
  const [given, stored] = [parseCertificate(certificate), parseCertificate(same.certificate)];
  const faults: string[] = [];
  if (!Buffer.from(subjectOf(given)).equals(subjectOf(stored)))
    faults.push(
      `The subject differs from that of "${same.name}", which has the same key. Have it certified with the subject of the CSR.`,
    );
  const [id, storedId] = [subjectKeyIdOf(given), subjectKeyIdOf(stored)];
  if (!id.equals(storedId))
    faults.push(
      `The subject key identifier differs from that of "${same.name}", which has the same key: its certificates could not be checked for revocation any more. Have it certified with the identifier ${storedId.toString('hex')}, or renew the intermediate with another key.`,
    );
  return faults;
}

async function assertKeySigns(keys: CaKeys, name: IntermediateName, spki: Buffer): Promise<void> {
  const key = await keys.open({ name, spki });
  const probe = Buffer.from(`import of ${name}`);
  const publicKey = { key: spki, format: 'der', type: 'spki' } as const;
  if (verify('sha256', probe, publicKey, await key.sign(probe))) return;
  throw new Error(`The key of "${name}" makes signatures that its certificate does not verify.`);
}

function spkiOfDer(certificate: Buffer): Buffer {
  return spkiOfCertificate(parseCertificate(certificate));
}
