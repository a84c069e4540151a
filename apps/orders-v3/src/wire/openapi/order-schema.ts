import { ApiProperty, ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { CertificateSchema } from './certificate-schema';
import { IssuanceSchema } from './issuance-schema';

const dnsNames: ApiPropertyOptions = {
  type: [String],
  example: ['example.com', '*.example.com'],
  description:
    'Domains, sub-domains or wildcards, each part of a public domain. Kept in lower case, internationalized names as A-labels, duplicates removed.',
};

/** The body of a POST. */
export class OrderRequestSchema {
  @ApiPropertyOptional({
    maxLength: 255,
    description:
      'Identifies the order in URLs. Defaults to the first DNS name. Cannot change after creation.',
  })
  name: string;

  @ApiPropertyOptional({
    ...dnsNames,
    minItems: 1,
    maxItems: 100,
    description: `${dnsNames.description} Required on creation.`,
  })
  dns_names: string[];

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'string', format: 'email' },
    example: { 'example.com': 'hostmaster@example.com' },
    description:
      'DNS name → address that may approve it by email. Only admin, administrator, hostmaster, postmaster and webmaster at the name or a parent. Only for products that support it.',
  })
  approver_emails: Record<string, string>;

  @ApiPropertyOptional({
    type: String,
    nullable: true,
    default: null,
    description:
      'Name of the agent cluster that manages the order; null: unmanaged. A change resets csr to null.',
  })
  cluster: string | null;

  @ApiPropertyOptional({
    default: true,
    description: 'A new certificate is issued before the current one expires.',
  })
  auto_renew: boolean;

  @ApiPropertyOptional({ default: false, description: 'No expiration notices are sent.' })
  muted: boolean;

  @ApiPropertyOptional({ default: false, description: 'No certificate is issued, whatever happens.' })
  paused: boolean;

  @ApiPropertyOptional({ enum: ['free_ca', 'paid_ca'], default: 'free_ca' })
  product: string;

  @ApiPropertyOptional({
    enum: ['rsa', 'ecdsa'],
    description:
      'Defaults to the key type of the CSR, or to rsa without one. A change resets csr to null, unless one comes with it.',
  })
  key_type: string;

  @ApiPropertyOptional({
    type: String,
    format: 'byte',
    nullable: true,
    description:
      'PKCS#10, DER, base64 on one line. Needed for unmanaged orders, refused for managed ones. RSA of 2048, 3072 or 4096 bits, or ECDSA on P-256 or P-384. For free_ca its subject alternative names are exactly the DNS names of the order.',
  })
  csr: string | null;
}

/** An order as it is answered. */
export class OrderSchema {
  @ApiProperty({ example: 'example.com' })
  name: string;

  @ApiProperty(dnsNames)
  dns_names: string[];

  @ApiProperty({ type: 'object', additionalProperties: { type: 'string', format: 'email' } })
  approver_emails: Record<string, string>;

  @ApiProperty({ type: String, nullable: true })
  cluster: string | null;

  @ApiProperty()
  auto_renew: boolean;

  @ApiProperty()
  muted: boolean;

  @ApiProperty()
  paused: boolean;

  @ApiProperty({ enum: ['free_ca', 'paid_ca'] })
  product: string;

  @ApiProperty({ enum: ['rsa', 'ecdsa'] })
  key_type: string;

  @ApiProperty({
    type: 'integer',
    minimum: 1,
    description: 'Grows with every effective modification; the entity tag of the order.',
  })
  revision: number;

  @ApiProperty({
    format: 'uri',
    description: 'Public address of the current certificate and its chain in PEM; stable.',
  })
  current_cert_download: string;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'SHA-256 over the DER SubjectPublicKeyInfo of the CSR, lower-case hex; null without one.',
  })
  pubkey_sha256: string | null;

  @ApiPropertyOptional({ type: String, format: 'byte', nullable: true, description: 'Expandable.' })
  csr: string | null;

  @ApiPropertyOptional({
    type: CertificateSchema,
    nullable: true,
    description: 'Expandable, with current_cert.leaf, .chain and .root in it.',
  })
  current_cert: CertificateSchema | null;

  @ApiPropertyOptional({ type: IssuanceSchema, description: 'Expandable: what happens now.' })
  issuance: IssuanceSchema;
}
