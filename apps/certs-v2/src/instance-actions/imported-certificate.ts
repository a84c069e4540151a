import { rootCertificates } from 'node:tls';
import { parseDnsNames } from '@certwright/dns-names';
import type { KeyType } from '@certwright/issuance';
import { issuedMismatchMessage } from '@certwright/outcome-messages';
import {
  type Certificate,
  checkIssued,
  decodePem,
  type IssuedMismatch,
  type IssuedMismatchCode,
  readCertificate,
} from '@certwright/pki';
import { badParam } from '../wire/arguments';
import type { Refusal } from '../wire/reasons';
import type { ImportRequest } from './import-request';

/** A validated certificate that was issued elsewhere. */
export interface ImportedCertificate {
  readonly leaf: Certificate;
  readonly keyType: KeyType;
  /** In normal form; what is no DNS name that a certificate may have is left out. */
  readonly dnsNames: readonly string[];
  /** Without the root. */
  readonly chain: readonly Certificate[];
  /** Null: it was not sent, and is not a well-known root. */
  readonly root: Certificate | null;
}

/** Requirements on the certificate itself. Its issuer is responsible for the rest, such as further names. */
const refusedOfLeaf: ReadonlySet<IssuedMismatchCode> = new Set([
  'not_yet_valid',
  'expired',
  'is_ca',
  'is_precertificate',
  'no_server_auth',
]);
const refusedOfChain: ReadonlySet<IssuedMismatchCode> = new Set(['not_yet_valid', 'expired', 'broken_chain']);

/**
 * @param cn in normal form; the certificate must have it among its names, literally
 * @param rootsNamed well-known roots, by the DER of their subject
 * @throws Refusal `bad_certificate`
 */
export function validateImport(
  { crt: leaf, chain: issuers }: ImportRequest,
  cn: string,
  rootsNamed: (subject: Uint8Array) => readonly Certificate[],
  now: Date,
): ImportedCertificate {
  const { names } = parseDnsNames(leaf.dnsNames);
  if (!names.includes(cn)) throw badCertificate('crt', `has not the name ${cn} among its alternative names.`);
  if (leaf.keyType === undefined) throw badCertificate('crt', 'has a key that is neither RSA nor ECDSA.');
  // Of one second no interval is left that the database could hold.
  if (leaf.notBefore >= leaf.notAfter) throw badCertificate('crt', 'ends before it begins.');
  assertNone('crt', mismatchesOf(leaf, [], leaf, now), refusedOfLeaf);
  const { chain, root } = withoutRoot(leaf, issuers, rootsNamed);
  assertCertified(leaf, chain, root, now);
  return { leaf, keyType: leaf.keyType, dnsNames: names, chain, root };
}

/** A root is its own issuer; a root that was not sent is looked up. */
function withoutRoot(
  leaf: Certificate,
  issuers: readonly Certificate[],
  rootsNamed: (subject: Uint8Array) => readonly Certificate[],
): Pick<ImportedCertificate, 'chain' | 'root'> {
  const last = issuers.at(-1) ?? leaf;
  if (isSelfIssued(last)) return { chain: issuers.slice(0, -1), root: last };
  const root = rootsNamed(last.issuer.der).find((candidate) => certifies(candidate, last));
  return { chain: issuers, root: root ?? null };
}

function isSelfIssued({ issuer, subject }: Certificate): boolean {
  return Buffer.compare(issuer.der, subject.der) === 0;
}

/** Of two roots of one name only one has the key. */
function certifies(issuer: Certificate, certificate: Certificate): boolean {
  return !mismatchesOf(certificate, [], issuer, certificate.notBefore).some(
    ({ code }) => code === 'broken_chain',
  );
}

function assertCertified(
  leaf: Certificate,
  chain: readonly Certificate[],
  root: Certificate | null,
  now: Date,
): void {
  // Without a root, the last certificate of the chain takes its place: there is no issuer to verify it with.
  const anchor = root ?? chain.at(-1);
  if (anchor === undefined || anchor === leaf) return;
  const between = root === null ? chain.slice(0, -1) : chain;
  assertNone('chain', mismatchesOf(leaf, between, anchor, now), refusedOfChain);
  if (root === null && anchor.notAfter < now)
    throw badCertificate('chain', 'ends in a certificate that has expired.');
}

function assertNone(
  param: string,
  mismatches: readonly IssuedMismatch[],
  refused: ReadonlySet<IssuedMismatchCode>,
): void {
  const first = mismatches.find(({ code }) => refused.has(code));
  if (first !== undefined) throw badCertificate(param, `cannot be imported. ${issuedMismatchMessage(first)}`);
}

function mismatchesOf(
  leaf: Certificate,
  chain: readonly Certificate[],
  root: Certificate,
  now: Date,
): readonly IssuedMismatch[] {
  const issued = { leaf: leaf.der, chain: chain.map(({ der }) => der), root: root.der };
  return checkIssued(issued, { dnsNames: leaf.dnsNames, spkiSha256: leaf.spkiSha256, now });
}

export function badCertificate(param: string, what: string): Refusal {
  return badParam(param, 'bad_certificate', what);
}

let roots: readonly Certificate[] | undefined;

/**
 * Roots of this name that every program trusts: those that come with Node. Read at the first call, in about 30 ms.
 *
 * @param subject DER of the whole Name
 */
export function trustedRoots(subject: Uint8Array): readonly Certificate[] {
  roots ??= rootCertificates.flatMap(readable);
  return roots.filter((root) => Buffer.compare(root.subject.der, subject) === 0);
}

/** Some old roots are not strict DER; they are left out. */
function readable(pem: string): readonly Certificate[] {
  const decoded = decodePem(pem, 1);
  const [block] = decoded.ok ? decoded.blocks : [];
  const reading = block === undefined ? null : readCertificate(block.der);
  return reading?.ok === true ? [reading.certificate] : [];
}
