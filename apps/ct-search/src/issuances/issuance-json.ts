import type { PublicKey } from '@certwright/ct';
import type { RevocationFacts, StoredIssuance } from '@certwright/ct-index';
import { type Certificate, publicKeyOf, spkiDerOf } from './certificate';
import type { Issuer } from '../issuers/issuer';
import type { IssuanceExpansion } from '../wire/expansion';
import { issuerJson } from '../wire/issuer-json';
import { timestamp, timestampOrNull } from '../wire/timestamp';

/** What is known of an issuance. */
export interface IssuanceFacts {
  readonly issuance: StoredIssuance;
  readonly revocation: RevocationFacts;
  /** Null unless a member that is expanded needs it. */
  readonly issuer: Issuer | null;
  /** Null unless a member that is expanded needs it. */
  readonly certificate: Certificate | null;
}

/** Whether members are expanded that stand in the certificate alone. */
export function needsCertificate({ cert, certDer, pubkey, pubkeyDer }: IssuanceExpansion): boolean {
  return cert || certDer || pubkey || pubkeyDer;
}

export function needsIssuer({ issuer, problemReporting }: IssuanceExpansion): boolean {
  return issuer !== null || problemReporting;
}

/**
 * An issuance in the words of the API, as the text of a JSON object: digits, hexadecimal and times need no escaping, which
 * makes most of a page.
 */
export function issuanceJson(facts: IssuanceFacts, expansion: IssuanceExpansion): string {
  const { issuance, revocation, issuer, certificate } = facts;
  // A body that was read later than the issuance may be that of the certificate already.
  const certSha256 = (certificate?.sha256 ?? issuance.certSha256).toString('hex');
  let json = `{"id":"${issuance.position}","tbs_sha256":"${issuance.tbsSha256.toString('hex')}"`;
  json += `,"cert_sha256":"${certSha256}"`;
  if (expansion.dnsNames) json += `,"dns_names":${JSON.stringify(issuance.dnsNames)}`;
  json += `,"pubkey_sha256":"${issuance.spkiSha256.toString('hex')}"`;
  if (certificate !== null) json += keyMembers(certificate, expansion);
  if (expansion.issuer !== null && issuer !== null)
    json += `,"issuer":${issuerJson(issuer, expansion.issuer)}`;
  json += `,"not_before":"${timestamp(issuance.notBefore)}","not_after":"${timestamp(issuance.notAfter)}"`;
  json += `,"revoked":${revoked(revocation)}`;
  if (expansion.revocation) json += `,"revocation":${JSON.stringify(revocationMembers(revocation))}`;
  if (expansion.problemReporting)
    json += `,"problem_reporting":${JSON.stringify(issuer?.problemReporting ?? null)}`;
  if (certificate !== null) json += certificateMembers(certificate, certSha256, expansion);
  return `${json}}`;
}

function revoked({ status }: RevocationFacts): boolean | null {
  return status === 'unknown' ? null : status === 'revoked';
}

function revocationMembers({ status, revokedAt, reason, checkedAt }: RevocationFacts): object {
  const isRevoked = status === 'revoked';
  return {
    time: isRevoked ? timestampOrNull(revokedAt) : null,
    reason: isRevoked ? reason : null,
    checked_at: status === 'unknown' ? null : timestampOrNull(checkedAt),
  };
}

function keyMembers(certificate: Certificate, { pubkey, pubkeyDer }: IssuanceExpansion): string {
  if (!pubkey && !pubkeyDer) return '';
  const spkiDer = spkiDerOf(certificate);
  // Of a key that cannot be read `pubkey_sha256` is the digest of nothing.
  const der = pubkeyDer ? `,"pubkey_der":"${spkiDer?.toString('base64') ?? ''}"` : '';
  return pubkey ? `${der},"pubkey":${JSON.stringify(publicKeyMembers(publicKeyOf(spkiDer)))}` : der;
}

function publicKeyMembers(key: PublicKey): object {
  return key.type === 'rsa' ? { type: key.type, bit_length: key.bitLength } : key;
}

function certificateMembers(
  { der, precertificate }: Certificate,
  sha256: string,
  { cert, certDer }: IssuanceExpansion,
): string {
  if (!cert && !certDer) return '';
  const data = der.toString('base64');
  const type = precertificate ? 'precert' : 'cert';
  const member = certDer ? `,"cert_der":"${data}"` : '';
  return cert ? `${member},"cert":{"type":"${type}","sha256":"${sha256}","data":"${data}"}` : member;
}
