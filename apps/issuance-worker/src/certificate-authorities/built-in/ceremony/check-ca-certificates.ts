import { X509Certificate } from 'node:crypto';
import { readCertificate } from '@certwright/pki';
import { BasicConstraints, type Certificate, type Extension } from 'pkijs';
import { BitString, fromBER } from 'asn1js';
import { parseCertificate } from '../certificate-values';
import { arrayBuffer, keyUsages } from '../extensions';
import { oid } from '../oids';

const anyExtendedKeyUsage = '2.5.29.37.0';
const minModulusBits = 2048;

/**
 * Checks that a root can certify intermediates.
 *
 * @param der of the root
 * @returns what is wrong, a sentence each
 */
export function rootFaults(der: Buffer, now: Date): readonly string[] {
  const read = readCa(der, 'root');
  if (typeof read === 'string') return [read];
  const { x509, usages, constraints } = read;
  const faults = [...caFaults(read, 'root', now)];
  if (!x509.checkIssued(x509) || !x509.verify(x509.publicKey))
    faults.push('The root is not signed by its own key: give the self-signed certificate.');
  if (usages !== null && (usages & keyUsages.keyCertSign) === 0)
    faults.push('The keyUsage of the root does not allow keyCertSign.');
  if (constraints?.pathLenConstraint !== undefined && pathLength(constraints) < 1)
    faults.push('The pathLenConstraint of the root allows no intermediate.');
  return faults;
}

/**
 * Checks an intermediate before it is stored: chain, extensions, and validity within the root's.
 *
 * @param der of the intermediate
 * @param rootDer a root without faults
 * @returns what is wrong, a sentence each
 */
export function intermediateFaults(der: Buffer, rootDer: Buffer, now: Date): readonly string[] {
  const read = readCa(der, 'intermediate');
  if (typeof read === 'string') return [read];
  const { x509, usages, constraints, certificate, extendedKeyUsages } = read;
  const root = new X509Certificate(rootDer);
  const faults = [...caFaults(read, 'intermediate', now)];
  if (!x509.checkIssued(root) || !x509.verify(root.publicKey))
    faults.push('The intermediate is not signed by the root.');
  if (certificate.notAfter.value.getTime() > parseCertificate(rootDer).notAfter.value.getTime())
    faults.push('The intermediate ends after the root.');
  if (constraints === null || constraints.pathLenConstraint === undefined || pathLength(constraints) !== 0)
    faults.push('The intermediate needs the pathLenConstraint 0: no CA may be below it.');
  const needed = keyUsages.keyCertSign | keyUsages.cRLSign;
  if (usages === null || (usages & needed) !== needed)
    faults.push('The keyUsage of the intermediate must allow keyCertSign and cRLSign.');
  if (
    !(extendedKeyUsages ?? [oid.serverAuth]).some((usage) =>
      [oid.serverAuth, anyExtendedKeyUsage].includes(usage),
    )
  )
    faults.push('The extended key usages of the intermediate do not allow serverAuth.');
  const { asymmetricKeyType, asymmetricKeyDetails } = x509.publicKey;
  if (asymmetricKeyType !== 'rsa' || (asymmetricKeyDetails?.modulusLength ?? 0) < minModulusBits)
    faults.push(`The key of the intermediate must be RSA with at least ${minModulusBits} bits.`);
  if (extensionOf(certificate, oid.subjectKeyIdentifier) === undefined)
    faults.push('The intermediate needs a subject key identifier.');
  return faults;
}

interface ReadCa {
  readonly x509: X509Certificate;
  readonly certificate: Certificate;
  /** The first byte of KeyUsage; null: no such extension. */
  readonly usages: number | null;
  readonly constraints: BasicConstraints | null;
  readonly isConstraintCritical: boolean;
  readonly extendedKeyUsages: readonly string[] | undefined;
  /** Undefined: not accepted. */
  readonly algorithm: string | undefined;
}

/** @returns what is wrong, if it cannot be read */
function readCa(der: Buffer, what: string): ReadCa | string {
  const reading = readCertificate(der);
  if (!reading.ok) return `The ${what} is not a certificate in DER: ${reading.detail}.`;
  const certificate = parseCertificate(der);
  const constraints = extensionOf(certificate, oid.basicConstraints);
  const usage = extensionOf(certificate, oid.keyUsage);
  return {
    x509: new X509Certificate(der),
    certificate,
    usages: usage === undefined ? null : firstByteOf(usage),
    constraints: constraints?.parsedValue instanceof BasicConstraints ? constraints.parsedValue : null,
    isConstraintCritical: constraints?.critical === true,
    extendedKeyUsages: reading.certificate.extendedKeyUsages,
    algorithm: reading.certificate.signatureAlgorithm.accepted?.name,
  };
}

function caFaults(
  { certificate, constraints, isConstraintCritical, algorithm }: ReadCa,
  what: string,
  now: Date,
): readonly string[] {
  const faults: string[] = [];
  if (constraints?.cA !== true || !isConstraintCritical)
    faults.push(`The ${what} needs critical basicConstraints with cA true.`);
  if (algorithm === undefined)
    faults.push(`The signature of the ${what} must be RSA or ECDSA with SHA-256, SHA-384 or SHA-512.`);
  if (certificate.notBefore.value.getTime() > now.getTime())
    faults.push(`The ${what} is not valid before ${certificate.notBefore.value.toISOString()}.`);
  if (certificate.notAfter.value.getTime() <= now.getTime())
    faults.push(`The ${what} ended ${certificate.notAfter.value.toISOString()}.`);
  return faults;
}

function pathLength({ pathLenConstraint }: BasicConstraints): number {
  return typeof pathLenConstraint === 'number'
    ? pathLenConstraint
    : Number(pathLenConstraint?.valueBlock.valueDec);
}

function extensionOf(certificate: Certificate, id: string): Extension | undefined {
  return certificate.extensions?.find(({ extnID }) => extnID === id);
}

function firstByteOf(usage: Extension): number {
  const { result } = fromBER(arrayBuffer(usage.extnValue.valueBlock.valueHexView));
  return result instanceof BitString ? (result.valueBlock.valueHexView[0] ?? 0) : 0;
}

/**
 * The root whose revocation list the certificate names below that URL, such as `root-2`; null: the list is published
 * elsewhere, or none is named.
 */
export function publishedRoot(der: Buffer, publicationUrl: string): string | null {
  const points = extensionOf(parseCertificate(der), oid.crlDistributionPoints);
  const text =
    points === undefined ? '' : Buffer.from(points.extnValue.valueBlock.valueHexView).toString('latin1');
  const at = text.indexOf(`${publicationUrl}/`);
  if (at < 0) return null;
  return /^[a-z0-9-]+(?=\.crl)/.exec(text.slice(at + publicationUrl.length + 1))?.[0] ?? null;
}
