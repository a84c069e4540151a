import { type CertificateState, certificateState, type KeyType } from '@certwright/issuance';
import type { StoredCertificate } from '@certwright/ordering';
import { timestamp } from '@certwright/service';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { CertificateExpansion } from './expansion';

/** A certificate of an order. */
export class CertificateSchema {
  @ApiProperty({ type: 'integer', maximum: Number.MAX_SAFE_INTEGER })
  id: number;

  @ApiProperty({ enum: ['valid', 'revoked', 'expired'] })
  state: CertificateState;

  @ApiProperty({ description: "This is the order's best certificate." })
  current: boolean;

  @ApiProperty({ type: [String] })
  dns_names: readonly string[];

  @ApiProperty({ format: 'date-time' })
  expiration: string;

  @ApiProperty({ format: 'date-time' })
  not_before: string;

  @ApiProperty({ description: 'SHA-256 over the DER certificate, lower-case hex.' })
  sha256: string;

  @ApiProperty({ enum: ['rsa', 'ecdsa'] })
  key_type: KeyType;

  @ApiProperty({ description: 'SHA-256 over the DER SubjectPublicKeyInfo, lower-case hex.' })
  pubkey_sha256: string;

  @ApiPropertyOptional({ format: 'byte', description: 'Expandable: DER, base64.' })
  leaf?: string;

  @ApiPropertyOptional({
    type: [String],
    description: 'Expandable: DER, base64. The first certifies the leaf, each next one the one before it.',
  })
  chain?: readonly string[];

  @ApiPropertyOptional({ format: 'byte', description: 'Expandable: DER, base64.' })
  root?: string;
}

export function certificateJson(
  certificate: StoredCertificate,
  expansion: CertificateExpansion,
  now: Date,
): CertificateSchema {
  const state = certificateState(certificate, now);
  return {
    // Ids fit the integers of JSON's numbers: a constraint of the table.
    id: Number(certificate.id),
    state,
    current: certificate.isCurrent && state === 'valid',
    dns_names: certificate.dnsNames,
    expiration: timestamp(certificate.notAfter),
    not_before: timestamp(certificate.notBefore),
    sha256: Buffer.from(certificate.sha256).toString('hex'),
    key_type: certificate.keyType,
    pubkey_sha256: Buffer.from(certificate.spkiSha256).toString('hex'),
    leaf: expansion.leaf ? certificate.leaf.toString('base64') : undefined,
    chain: expansion.chain ? certificate.chain.map((der) => der.toString('base64')) : undefined,
    root: expansion.root ? certificate.root.toString('base64') : undefined,
  };
}
