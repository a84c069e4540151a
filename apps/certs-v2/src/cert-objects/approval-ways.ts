import { baseName } from '@certwright/dns-names';
import type { ApprovalWay } from '@certwright/issuance';
import type { NewTerms } from '@certwright/ordering';
import { type CertObject, defaultSanOf, dnsNamesOf, type NameToApprove } from './cert-object';

/** DNS name → how it is approved; one for every name of the certificate. */
export type ApprovalWays = Readonly<Record<string, ApprovalWay>>;

/**
 * With default SANs, one record at the shorter of the two names approves both by dns: it is an Authorization Domain Name of
 * the longer one (Baseline Requirements 1.6.1). A wildcard and its base name have the same record anyway.
 */
function approvalWaysOf(object: Pick<CertObject, 'cn' | 'sans'> & NameToApprove): ApprovalWays {
  const { cn, sans } = object;
  const wayOf = (
    { approvalMethod: method, approverEmail }: NameToApprove,
    recordAt: string | null,
  ): ApprovalWay => ({
    method,
    approverEmail,
    recordAt: method === 'dns' ? recordAt : null,
  });
  if (sans !== null) {
    const named = sans.map((san) => [san.value, wayOf(san, null)] as const);
    return Object.fromEntries([[cn, wayOf(object, null)], ...named]);
  }
  const added = defaultSanOf(cn);
  const [one, other] = [baseName(cn), baseName(added)];
  const shorter = one.length < other.length ? one : other;
  return Object.fromEntries(
    [cn, added].map((name) => [name, wayOf(object, baseName(name) === shorter ? null : shorter)]),
  );
}

/** Approval method of one name, and the place of its standing record. */
export interface PlacedWay extends ApprovalWay {
  readonly dnsName: string;
  /** Without `*.`. */
  readonly recordPlace: string;
}

/**
 * @param acceptsRecordsAbove whether the issuer accepts a record at a parent name
 * @returns DNS name → way, the common name first
 */
export function placedWaysOf(
  object: CertObject,
  acceptsRecordsAbove: boolean,
): ReadonlyMap<string, PlacedWay> {
  const placed = Object.entries(approvalWaysOf(object)).map(([dnsName, way]): [string, PlacedWay] => {
    const above = acceptsRecordsAbove ? way.recordAt : null;
    return [dnsName, { ...way, dnsName, recordPlace: above ?? baseName(dnsName) }];
  });
  return new Map(placed);
}

/** Contents of a certificate made from the object. */
export function termsOf(object: CertObject, product: string): NewTerms {
  const approvalWays = approvalWaysOf(object);
  const byEmail = Object.entries(approvalWays).flatMap(([name, { approverEmail }]) =>
    approverEmail === null ? [] : [[name, approverEmail] as const],
  );
  return {
    product,
    dnsNames: dnsNamesOf(object),
    keyType: object.csr.keyType,
    csr: object.csr.der,
    spkiSha256: object.csr.spkiSha256,
    approverEmails: Object.fromEntries(byEmail),
    approvalWays,
    ownerFacts: { sans: object.sans },
  };
}
