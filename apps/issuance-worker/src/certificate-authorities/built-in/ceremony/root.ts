import { generateKeyPair, type KeyObject, randomBytes, X509Certificate } from 'node:crypto';
import { promisify } from 'node:util';
import { csrFaultMessage } from '@certwright/outcome-messages';
import { checkCsr, readCertificate, readCsr, rsaKeySizes } from '@certwright/pki';
import { CertificateRevocationList, CertificationRequest } from 'pkijs';
import { backdatingMs, parseCertificate, randomSerial, subjectOf, wholeSeconds } from '../certificate-values';
import { arrayBuffer } from '../extensions';
import { keyInMemory, spkiOf } from '../keys/ca-key';
import { assemble, caSubject, intermediateTbs, rootTbs } from '../profile';
import { revocationListTbs } from '../revocation-list';
import type { RevokedSerial } from '../revocation-lists';

/** A root with its key: only in the memory of the ceremony, never of a worker. */
export interface Root {
  readonly key: KeyObject;
  /** DER. */
  readonly certificate: Buffer;
}

const rootYears = 20;
const intermediateYears = 10;

/** @param name the organisation in its subject */
export async function createRoot(name: string, modulusBits: number, now: Date): Promise<Root> {
  const { privateKey: key } = await promisify(generateKeyPair)('rsa', { modulusLength: modulusBits });
  // Installations must not share a subject, or their chains would be confused.
  const installation = randomBytes(4).toString('hex').toUpperCase();
  const subject = caSubject(name, `Root ${installation}`);
  const tbs = rootTbs({ ...validity(now, rootYears), spki: spkiOf(key), subject });
  return { key, certificate: assemble(tbs, await keyInMemory(key).sign(tbs)) };
}

export interface Publication {
  /** http URL of the published files, without a slash at the end. */
  readonly baseUrl: string;
  /** Name of the root there: `root`, `root-2`. */
  readonly rootName: string;
}

/** As an order's key, but RSA: workers sign with RSA. */
const intermediateCsr = {
  keyType: undefined,
  dnsNames: [],
  rule: { mustNameEveryDnsName: false, keys: { rsaSizes: rsaKeySizes, curves: [] } },
} as const;

/**
 * Certifies the key of a request under its subject. What it may do is decided here, not by the request. It does not end
 * after the root.
 *
 * @param csr DER
 * @throws Error when the request is invalid, its key may not be certified or is not RSA, or the root is not the key's
 */
export async function signIntermediate(
  root: Root,
  csr: Buffer,
  { baseUrl, rootName }: Publication,
  now: Date,
): Promise<Buffer> {
  assertRootKey(root);
  const reading = readCsr(csr);
  const faults = reading.ok ? checkCsr(reading.csr, intermediateCsr, { keyBlocked: false }) : reading.faults;
  if (!reading.ok || faults.length > 0)
    throw new Error(faults.map((fault) => csrFaultMessage(fault, 'intermediate')).join('\n'));
  const issuer = parseCertificate(root.certificate);
  const { notAfter, ...rest } = validity(now, intermediateYears);
  const rootEnds = issuer.notAfter.value;
  const tbs = intermediateTbs(
    {
      ...rest,
      notAfter: notAfter.getTime() < rootEnds.getTime() ? notAfter : rootEnds,
      spki: Buffer.from(reading.csr.spkiDer),
      subject: subjectOf(CertificationRequest.fromBER(arrayBuffer(csr))),
    },
    {
      certificate: issuer,
      certificateUrl: `${baseUrl}/${rootName}.cer`,
      crlUrl: `${baseUrl}/${rootName}.crl`,
    },
  );
  return assemble(tbs, await keyInMemory(root.key).sign(tbs));
}

/**
 * The root's revocation list, signed ahead of time. Its number is the time of signing in seconds, so that it grows without a
 * record.
 *
 * @param revoked DER of every revoked intermediate that has not expired
 */
export async function signRootList(
  root: Root,
  revoked: readonly { readonly certificate: Buffer; readonly revokedAt: Date; readonly reason: number }[],
  now: Date,
  nextUpdate: Date,
): Promise<Buffer> {
  assertRootKey(root);
  const issuer = new X509Certificate(root.certificate);
  const entries = revoked.map(({ certificate, revokedAt, reason }): RevokedSerial => {
    if (!new X509Certificate(certificate).verify(issuer.publicKey))
      throw new Error('A certificate to revoke was not signed by this root.');
    const { serialNumber } = parseCertificate(certificate);
    return { serialNumber: Buffer.from(serialNumber.valueBlock.valueHexView), revokedAt, reason };
  });
  const draft = {
    number: BigInt(Math.floor(now.getTime() / 1_000)),
    revoked: entries,
    now: wholeSeconds(now),
  };
  const tbs = revocationListTbs(draft, wholeSeconds(nextUpdate), parseCertificate(root.certificate));
  return assemble(tbs, await keyInMemory(root.key).sign(tbs));
}

export interface RootList {
  readonly number: bigint;
  readonly thisUpdate: Date;
  readonly nextUpdate: Date;
  /** Serial numbers, upper-case hex. */
  readonly serialNumbers: readonly string[];
}

/** It is a revocation list, but not one of that root. */
export class OtherSigner extends Error {
  override readonly name = 'OtherSigner';
}

/** @throws OtherSigner @throws Error when it is no revocation list, or lacks what is needed to publish it */
export async function readRootList(der: Buffer, root: Buffer): Promise<RootList> {
  let list: CertificateRevocationList;
  try {
    list = CertificateRevocationList.fromBER(arrayBuffer(der));
  } catch {
    throw new Error('The file is not a revocation list in DER or PEM.');
  }
  const isSigned = await list.verify({ issuerCertificate: parseCertificate(root) }).catch(() => false);
  if (!isSigned) throw new OtherSigner('The revocation list was not signed by that root.');
  const nextUpdate = list.nextUpdate?.value;
  const number = list.crlExtensions?.extensions.find(({ extnID }) => extnID === '2.5.29.20');
  if (nextUpdate === undefined || number === undefined)
    throw new Error(
      'The revocation list lacks its number or the time of the next one. Sign it again with both.',
    );
  return {
    number: BigInt(`0x${hex(number.extnValue.valueBlock.valueHexView.subarray(2))}`),
    thisUpdate: list.thisUpdate.value,
    nextUpdate,
    serialNumbers: (list.revokedCertificates ?? []).map(({ userCertificate }) =>
      hex(userCertificate.valueBlock.valueHexView),
    ),
  };
}

function assertRootKey({ key, certificate }: Root): void {
  const reading = readCertificate(certificate);
  if (!reading.ok) throw new Error(`The root is not a certificate: ${reading.detail}.`);
  if (key.asymmetricKeyType !== 'rsa' || !spkiOf(key).equals(Buffer.from(reading.certificate.spkiDer)))
    throw new Error('The root key is not the RSA key of the root certificate.');
}

function validity(now: Date, years: number) {
  const notBefore = wholeSeconds(new Date(now.getTime() - backdatingMs));
  const notAfter = new Date(notBefore);
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + years);
  notAfter.setUTCSeconds(notAfter.getUTCSeconds() - 1);
  return { serialNumber: randomSerial(), notBefore, notAfter };
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex').toUpperCase();
