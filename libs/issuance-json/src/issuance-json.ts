import type { PublicKey } from '@certwright/ct';
import type { RevocationFacts, StoredIssuance } from '@certwright/ct-index';
import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { type Certificate, publicKeyOf, spkiDerOf } from './certificate';
import { type Issuer, issuerJson, IssuerSchema } from './issuer';
import type { IssuanceExpansion } from './expansion';
import { hexDigest, instant, integer, orNull, text } from './schema-options';
import { JsonBytes, sha256Bytes } from './json-bytes';
import { timestampOrNull } from './timestamp';

/** The data of an issuance. */
export interface IssuanceFacts {
  readonly issuance: StoredIssuance;
  readonly revocation: RevocationFacts;
  /** Null unless an expanded member needs it. */
  readonly issuer: Issuer | null;
  /** Null unless an expanded member needs it. */
  readonly certificate: Certificate | null;
}

/** Whether expanded members need the certificate. */
export function needsCertificate({ cert, certDer, pubkey, pubkeyDer }: IssuanceExpansion): boolean {
  return cert || certDer || pubkey || pubkeyDer;
}

export function needsIssuer({ issuer, problemReporting }: IssuanceExpansion): boolean {
  return issuer !== null || problemReporting;
}

@ApiSchema({ name: 'PublicKey' })
class PublicKeySchema {
  @ApiProperty({ description: 'rsa, ecdsa or unknown; more may be added.' }) readonly type: string;
  @ApiPropertyOptional(integer('Of the modulus; present if and only if type is rsa.'))
  readonly bit_length?: number;

  @ApiPropertyOptional({
    description: 'P-256, P-384, P-521 or unknown; present if and only if type is ecdsa; more may be added.',
  })
  readonly curve?: string;
}

@ApiSchema({ name: 'Revocation' })
class RevocationSchema {
  @ApiProperty(orNull(instant, 'When it was revoked; null when it is not, or not known.'))
  readonly time: string | null;
  @ApiProperty(orNull(integer, 'RFC 5280, section 5.3.1.')) readonly reason: number | null;
  @ApiProperty(orNull(instant, 'When the status was last checked; null when it is not known.'))
  readonly checked_at: string | null;
}

@ApiSchema({ name: 'LoggedCertificate' })
class LoggedCertificateSchema {
  @ApiProperty({ enum: ['cert', 'precert'] }) readonly type: 'cert' | 'precert';
  @ApiProperty({ ...hexDigest(''), description: 'The same as cert_sha256.' }) readonly sha256: string;
  @ApiProperty({ description: 'The same as cert_der.' }) readonly data: string;
}

class ExpandableMembers {
  @ApiPropertyOptional({
    type: [String],
    description:
      'Expandable. Of DNS SANs and common names; internationalized names in Punycode. `<unparsable>` replaces a label with control characters.',
  })
  dns_names?: readonly string[];

  @ApiPropertyOptional({ description: 'Expandable. Base64 of the DER SubjectPublicKeyInfo.' })
  pubkey_der?: string;
  @ApiPropertyOptional({ description: 'Expandable.' }) pubkey?: PublicKeySchema;
  @ApiPropertyOptional({ description: 'Expandable.' }) issuer?: IssuerSchema;
  @ApiPropertyOptional({ description: 'Expandable.' }) revocation?: RevocationSchema;
  @ApiPropertyOptional(orNull(text, 'Expandable. How to request revocation from the CA.'))
  problem_reporting?: string | null;

  @ApiPropertyOptional({
    description: 'Expandable. Base64 of the DER certificate if it is known, else of the precertificate.',
  })
  cert_der?: string;

  @ApiPropertyOptional({ description: 'Expandable. Use cert_der and cert_sha256.', deprecated: true })
  cert?: LoggedCertificateSchema;
}

@ApiSchema({ name: 'Issuance' })
export class IssuanceSchema extends ExpandableMembers {
  @ApiProperty({ description: 'Names the issuance, and the place behind it in the order of discovery.' })
  readonly id: string;

  @ApiProperty(
    hexDigest(
      'Of the transparency TBSCertificate (RFC 6962, section 3.2), which certificate and precertificate share.',
    ),
  )
  readonly tbs_sha256: string;

  @ApiProperty(hexDigest('Of the DER certificate if it is known, else of the precertificate.'))
  readonly cert_sha256: string;
  @ApiProperty(hexDigest('Of the DER SubjectPublicKeyInfo.')) readonly pubkey_sha256: string;
  @ApiProperty(instant('About when it was issued; CAs may set it hours back.')) readonly not_before: string;
  @ApiProperty(instant('When it expires.')) readonly not_after: string;
  @ApiProperty({ type: Boolean, nullable: true, description: 'Null: not known.' })
  readonly revoked: boolean | null;
}

/** Bytes of an issuance without expanded members, about. */
export const usualBytes = 384;

/** The text of an `IssuanceSchema`. */
export function issuanceJson(facts: IssuanceFacts, expansion: IssuanceExpansion): string {
  const json = new JsonBytes(usualBytes);
  writeIssuance(json, facts, expansion);
  return json.written().toString();
}

/** The same; ids, digests and times need no escaping. */
export function writeIssuance(json: JsonBytes, facts: IssuanceFacts, expansion: IssuanceExpansion): void {
  const { issuance, revocation, certificate } = facts;
  const { digests } = issuance;
  json.ascii('{"id":"');
  json.ascii(issuance.position);
  json.ascii('","tbs_sha256":"');
  json.sha256(digests, 0);
  json.ascii('","cert_sha256":"');
  // A body that was read after the issuance may already be the certificate's.
  if (certificate === null) json.sha256(digests, sha256Bytes);
  else json.sha256(certificate.sha256, 0);
  json.ascii('","pubkey_sha256":"');
  json.sha256(digests, 2 * sha256Bytes);
  json.ascii('","not_before":"');
  json.timestamp(issuance.notBeforeMs);
  json.ascii('","not_after":"');
  json.timestamp(issuance.notAfterMs);
  json.ascii('","revoked":');
  json.ascii(revocation.status === 'unknown' ? 'null' : String(revocation.status === 'revoked'));
  const expanded = expandedMembers(facts, expansion);
  if (Object.keys(expanded).length === 0) return json.ascii('}');
  json.ascii(',');
  json.text(JSON.stringify(expanded).slice(1));
}

function expandedMembers(
  { issuance, revocation, issuer, certificate }: IssuanceFacts,
  expansion: IssuanceExpansion,
): ExpandableMembers {
  const members: ExpandableMembers = {};
  if (expansion.dnsNames) members.dns_names = issuance.dnsNames;
  if (expansion.issuer !== null && issuer !== null) members.issuer = issuerJson(issuer, expansion.issuer);
  if (expansion.revocation) members.revocation = revocationJson(revocation);
  if (expansion.problemReporting) members.problem_reporting = issuer?.problemReporting ?? null;
  if (certificate === null) return members;
  if (expansion.pubkey || expansion.pubkeyDer) {
    const spkiDer = spkiDerOf(certificate);
    // For an unreadable key `pubkey_sha256` is the digest of the empty string.
    if (expansion.pubkeyDer) members.pubkey_der = spkiDer?.toString('base64') ?? '';
    if (expansion.pubkey) members.pubkey = publicKeyJson(publicKeyOf(spkiDer));
  }
  if (expansion.cert || expansion.certDer) {
    const data = certificate.der.toString('base64');
    if (expansion.certDer) members.cert_der = data;
    if (expansion.cert) {
      const sha256 = certificate.sha256.toString('hex');
      members.cert = { type: certificate.precertificate ? 'precert' : 'cert', sha256, data };
    }
  }
  return members;
}

function revocationJson({ status, revokedAt, reason, checkedAt }: RevocationFacts): RevocationSchema {
  const isRevoked = status === 'revoked';
  return {
    time: isRevoked ? timestampOrNull(revokedAt) : null,
    reason: isRevoked ? reason : null,
    checked_at: status === 'unknown' ? null : timestampOrNull(checkedAt),
  };
}

function publicKeyJson(key: PublicKey): PublicKeySchema {
  return key.type === 'rsa' ? { type: key.type, bit_length: key.bitLength } : key;
}
