import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

export class CertificateSchema {
  @ApiProperty({ type: 'integer', maximum: Number.MAX_SAFE_INTEGER })
  id: number;

  @ApiProperty({ enum: ['valid', 'revoked', 'expired'] })
  state: string;

  @ApiProperty({ description: "This is the order's best certificate." })
  current: boolean;

  @ApiProperty({ type: [String] })
  dns_names: string[];

  @ApiProperty({ format: 'date-time' })
  expiration: string;

  @ApiProperty({ format: 'date-time' })
  not_before: string;

  @ApiProperty({ description: 'SHA-256 over the DER certificate, lower-case hex.' })
  sha256: string;

  @ApiProperty({ enum: ['rsa', 'ecdsa'] })
  key_type: string;

  @ApiProperty({ description: 'SHA-256 over the DER SubjectPublicKeyInfo, lower-case hex.' })
  pubkey_sha256: string;

  @ApiPropertyOptional({ format: 'byte', description: 'Expandable: DER, base64.' })
  leaf: string;

  @ApiPropertyOptional({
    type: [String],
    description: 'Expandable: DER, base64. The first certifies the leaf, each next one the one before it.',
  })
  chain: string[];

  @ApiPropertyOptional({ format: 'byte', description: 'Expandable: DER, base64.' })
  root: string;
}
