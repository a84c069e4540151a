import { endpointStates, findingCodes } from '@certwright/endpoint-checks';
import { ApiProperty, ApiPropertyOptional, type ApiPropertyOptions, ApiSchema } from '@nestjs/swagger';

const instant: ApiPropertyOptions = { type: String, format: 'date-time' };
const sha256: ApiPropertyOptions = { type: String, pattern: '^[0-9a-f]{64}$' };
const port = { type: 'integer', minimum: 1, maximum: 65_535 } as const;

/** Members that only some findings have. */
class FindingParameters {
  @ApiPropertyOptional({ ...instant, description: 'expired, expiring: the end of its validity.' })
  not_after?: string;

  @ApiPropertyOptional({ ...instant, description: 'not_yet_valid: the beginning of its validity.' })
  not_before?: string;

  @ApiPropertyOptional({
    type: [String],
    description: 'wrong_name: the first names of the certificate, as it has them.',
  })
  dns_names?: readonly string[];

  @ApiPropertyOptional({
    type: String,
    description:
      'untrusted: no_path (no CA that visitors trust), no_server_auth or unreadable. unreachable: no_name, no_address, or why no certificate was presented: refused_address, connect, handshake, too_large or timeout. More may be added.',
  })
  reason?: string;

  @ApiPropertyOptional({
    type: [String],
    example: ['RSA 1024', 'sha1WithRSAEncryption', 'TLSv1'],
    description: 'weak: keys, signature algorithms and the TLS version.',
  })
  reasons?: readonly string[];

  @ApiPropertyOptional({ ...instant, description: 'revoked.' })
  revoked_at?: string;

  @ApiPropertyOptional({
    ...sha256,
    description: 'not_current: SHA-256 over the DER certificate that should be installed.',
  })
  current_sha256?: string;

  @ApiPropertyOptional({ ...sha256, description: 'unknown_key: tbs_sha256 of the certificate.' })
  tbs_sha256?: string;

  @ApiPropertyOptional({ ...sha256, description: 'unknown_key: pubkey_sha256 of the certificate.' })
  pubkey_sha256?: string;

  @ApiPropertyOptional({ type: String, description: 'dangling: the name that does not exist.' })
  target?: string;

  @ApiPropertyOptional({ type: String, description: 'unreachable: a sentence about the reason.' })
  problem?: string;
}

/** One thing that is wrong at one address. */
@ApiSchema({ name: 'EndpointFinding' })
export class EndpointFindingSchema extends FindingParameters {
  @ApiProperty({
    description: `What is wrong: ${findingCodes.join(', ')}. More may be added.`,
    example: 'expired',
  })
  finding: string;

  @ApiProperty({ type: String, nullable: true, description: 'IPv4 or IPv6. Null: it concerns the name.' })
  address: string | null;

  @ApiProperty({ ...port, nullable: true, description: 'Null: it concerns the name.' })
  port: number | null;

  @ApiProperty({ ...instant, description: 'The first check with it.' })
  since: string;

  @ApiProperty({
    description: 'Whether as many checks in a row agree as are needed: three, or one if one is certain.',
  })
  confirmed: boolean;

  @ApiProperty({ description: 'Whether the last check did not find it: it is gone after three such checks.' })
  ending: boolean;

  @ApiProperty({
    ...instant,
    nullable: true,
    description: 'When the account was notified. Null: not yet, or it is only shown.',
  })
  reported_at: string | null;
}

/** Texts are those of the server, unchecked. Members are null if the certificate cannot be read. */
@ApiSchema({ name: 'ServedCertificate' })
export class ServedCertificateSchema {
  @ApiProperty({ ...sha256, description: 'SHA-256 over the DER certificate.' })
  sha256: string;

  @ApiProperty({
    ...sha256,
    nullable: true,
    description: 'SHA-256 over the DER TBSCertificate without SCT list.',
  })
  tbs_sha256: string | null;

  @ApiProperty({ ...sha256, nullable: true, description: 'SHA-256 over the DER SubjectPublicKeyInfo.' })
  pubkey_sha256: string | null;

  @ApiProperty({ ...instant, nullable: true })
  not_before: string | null;

  @ApiProperty({ ...instant, nullable: true })
  not_after: string | null;

  @ApiProperty({ type: [String], description: 'The first ones: as many as fit.' })
  dns_names: readonly string[];
}

/** What an address presented in the last check. */
@ApiSchema({ name: 'EndpointAddress' })
export class EndpointAddressSchema {
  @ApiProperty({ description: 'IPv4 or IPv6.', example: '192.0.2.1' })
  address: string;

  @ApiProperty(port)
  port: number;

  @ApiProperty({
    type: ServedCertificateSchema,
    nullable: true,
    description: 'Null: none was presented; see problem.',
  })
  certificate: ServedCertificateSchema | null;

  @ApiProperty({ type: String, nullable: true, description: 'Negotiated TLS version.', example: 'TLSv1.3' })
  version: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Negotiated cipher suite.',
    example: 'TLS_AES_128_GCM_SHA256',
  })
  cipher: string | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'Status of HEAD /. Null: not requested, or no HTTP response.',
  })
  http_status: number | null;

  @ApiProperty({ type: String, nullable: true, description: 'Why no certificate was presented.' })
  problem: string | null;
}

/** A host whose certificate is checked: in the monitoring API, in `issuance` of an order, and in webhooks. */
@ApiSchema({ name: 'MonitoredEndpoint' })
export class MonitoredEndpointSchema {
  @ApiProperty({ example: 'www.example.com' })
  dns_name: string;

  @ApiProperty({ description: 'Whether its findings are shown and not reported.' })
  muted: boolean;

  @ApiProperty({ type: 'array', items: port, description: 'TCP ports with TLS, ascending.' })
  ports: readonly number[];

  @ApiProperty({
    description: `${endpointStates.join(', ')}; more may be added. not_checked: no check has a result yet. suspect: no finding is confirmed yet. failing: one is. unreachable: no server presents a certificate. gone: the name does not exist, or has no address.`,
    example: 'ok',
  })
  state: string;

  @ApiProperty({ ...instant, description: 'Since when it has this state.' })
  since: string;

  @ApiProperty({ type: [EndpointFindingSchema], description: 'One for each finding and address.' })
  findings: readonly EndpointFindingSchema[];

  @ApiProperty({ type: [EndpointAddressSchema], description: 'What the last check saw; the first 32.' })
  addresses: readonly EndpointAddressSchema[];

  @ApiProperty({ ...instant, nullable: true, description: 'The last check with a result. Null: none yet.' })
  looked_at: string | null;
}
