import { findingCodes, isConfirmed, type TrackedFinding } from '@certwright/endpoint-checks';
import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { cut, firstTexts, instant, port, sha256, timestamp } from './json-values';

/** Findings, each counted for every address. */
const maxFindings = 100;

/** Total length of the texts of a list in a finding, without the first text of each address. */
const maxListCharacters = 1_000;

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

/** Every finding has at least one item, however many addresses have others. */
export function findingsJson(findings: readonly TrackedFinding[]): readonly EndpointFindingSchema[] {
  const maxOfFinding = Math.max(1, Math.floor(maxFindings / findings.length));
  return findings.slice(0, maxFindings).flatMap((finding) => {
    const addresses = finding.addresses.slice(0, maxOfFinding);
    return addresses.length === 0
      ? [findingJson(finding, null, 1)]
      : addresses.map((address) => findingJson(finding, address, addresses.length));
  });
}

/** @param addresses how many items repeat its parameters */
function findingJson(
  finding: TrackedFinding,
  address: string | null,
  addresses: number,
): EndpointFindingSchema {
  const { code, port, since, missing, reportedAt, parameters } = finding;
  const text = (name: string): string | undefined => {
    const value = parameters[name];
    return typeof value === 'string' ? cut(value) : undefined;
  };
  const time = (name: string): string | undefined => {
    const value = text(name);
    return value === undefined ? undefined : timestamp(value);
  };
  const list = (name: string): readonly string[] | undefined => {
    const value = parameters[name];
    return typeof value === 'object' ? firstTexts(value, maxListCharacters / addresses) : undefined;
  };
  return {
    finding: code,
    address,
    port,
    since: timestamp(since),
    confirmed: isConfirmed(finding),
    ending: missing > 0,
    reported_at: reportedAt && timestamp(reportedAt),
    not_after: time('notAfter'),
    not_before: time('notBefore'),
    dns_names: list('dnsNames'),
    reason: text('reason'),
    reasons: list('reasons'),
    revoked_at: time('revokedAt'),
    current_sha256: text('currentSha256'),
    tbs_sha256: text('tbsSha256'),
    pubkey_sha256: text('spkiSha256'),
    target: text('target'),
    problem: text('problem'),
  };
}
