import {
  type FindingReason,
  findingReasons,
  type FindingState,
  findingStates,
} from '@certwright/core-schema';
import {
  After,
  BooleanMember,
  documentedParameter,
  EnumMember,
  Limit,
  maxPageSize,
  ReadBy,
  TextLine,
  timestamp,
  Unreadable,
} from '@certwright/service';
import { IssuanceSchema } from '@certwright/issuance-json';
import { Param } from '@nestjs/common';
import { ApiParam, ApiProperty, ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { readNameInPath } from '../monitored-domains/monitored-domain';
import { noSuchCertificate } from '../wire/problems';
import type { IssuancesOfPage } from './issuances';
import type { Finding } from './findings.repository';

const sources = ['stream', 'backfill', 'test'] as const;

/** A name in the certificate that concerns the account. */
export class CertificateEndpointSchema {
  @ApiProperty({ example: 'www.example.com' })
  dns_name: string;

  @ApiProperty({ description: 'The monitored domain that decides about it.', example: '.example.com' })
  monitored_domain: string;

  @ApiProperty({ description: 'Whether a wildcard covers the monitored domain.' })
  wildcard: boolean;

  @ApiProperty({ description: 'Whether the name was found in a text that is not a DNS name.' })
  odd_name: boolean;
}

const instant: ApiPropertyOptions = { type: String, format: 'date-time' };

/** A certificate that concerns the account. */
export class MonitoredCertificateSchema {
  @ApiProperty({
    description:
      'SHA-256 over the DER TBSCertificate without poison and SCT list, in hexadecimal; of an entry of a log that cannot be read, over its bytes.',
    pattern: '^[0-9a-f]{64}$',
  })
  tbs_sha256: string;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Id of the issuance in the search API; null: a test, or an entry that cannot be read.',
  })
  id: string | null;

  @ApiProperty({
    enum: findingStates,
    description: 'waiting: it is classified later. Only unknown ones are reported.',
  })
  state: FindingState;

  @ApiProperty({
    enum: findingReasons,
    description:
      'Why: a certificate of the account; a key of an order for these names; authorized by digest, by key, or by CA.',
  })
  reason: FindingReason;

  @ApiProperty({ type: String, nullable: true, description: 'Name of the order that it belongs to.' })
  order: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Common name of the certificate object (v2) that it belongs to.',
  })
  cn: string | null;

  @ApiProperty({ type: [CertificateEndpointSchema], description: 'The first 100.' })
  endpoints: readonly CertificateEndpointSchema[];

  @ApiProperty({ type: 'integer', description: 'All names that concern the account.' })
  endpoint_count: number;

  @ApiProperty({
    nullable: true,
    oneOf: [
      { type: 'string', enum: ['first', 'renewal'] },
      { type: 'array', items: { type: 'string', enum: ['new_names', 'new_issuer', 'new_key'] } },
    ],
    description:
      'Compared with the newest other certificate that shares a monitored name. renewal: the same names, from the same CA. Null: not reported, or not yet.',
  })
  change: 'first' | 'renewal' | readonly string[] | null;

  @ApiProperty(instant)
  found_at: string;

  @ApiProperty({
    enum: sources,
    description:
      'stream: logged while the domain was monitored; backfill: logged before; test: it does not exist (POST test).',
  })
  source: (typeof sources)[number];

  @ApiProperty({ ...instant, nullable: true, description: 'When it was reported.' })
  alerted_at: string | null;

  @ApiProperty({ ...instant, nullable: true })
  acknowledged_at: string | null;

  @ApiProperty()
  note: string;

  @ApiProperty({
    type: IssuanceSchema,
    nullable: true,
    description:
      'As the search API shows it, with dns_names, issuer.website, issuer.caa_domains and problem_reporting; of a single certificate also with cert_der. Null: a test, an entry that cannot be read, one that the index no longer has, or the index is unavailable.',
  })
  issuance: IssuanceSchema | null;
}

/** The body of a POST; a member that is left out changes nothing. */
export class MonitoredCertificateRequest {
  @BooleanMember({
    description: 'true: no more alerts about it. false: it is unknown again; that sends no alert.',
  })
  acknowledged?: boolean;

  @TextLine()
  note?: string;

  @BooleanMember({
    description:
      'true: its key becomes a known key for all its monitored names, so that this certificate and later ones are known.',
  })
  authorize_key?: boolean;
}

/** Position of a finding in the list: when it was found, in microseconds since 1970, and its digest. */
const cursor = /^\d{1,16}-[0-9a-f]{64}$/;

export class MonitoredCertificatesQuery {
  @EnumMember(findingStates, { description: 'Only those in this state.' })
  state?: FindingState;

  @ApiPropertyOptional({
    type: String,
    example: '.example.com',
    description: 'Only those that concern this monitored domain. Leaves out tests.',
  })
  @ReadBy(readDomain)
  monitored_domain?: string;

  @After((text) => cursor.test(text), 'From the Link header of the page before.')
  after: string | null = null;

  @Limit()
  limit = maxPageSize;
}

function readDomain(value: unknown): string | undefined | Unreadable {
  if (value === '') return undefined;
  if (typeof value !== 'string') return Unreadable.because('It must be one name.');
  const read = readNameInPath(value);
  return 'name' in read ? read.name : Unreadable.because(read.message);
}

/** `@CertificateDigest() digest: string`: not validated. */
export const CertificateDigest = () =>
  documentedParameter(
    Param('tbs_sha256'),
    ApiParam({ name: 'tbs_sha256', description: 'SHA-256 of the certificate, in hexadecimal.' }),
  );

/** @throws Problem `not_found` for a text that no certificate can have */
export function digestInPath(text: string): Buffer {
  if (!/^[0-9A-Fa-f]{64}$/.test(text)) throw noSuchCertificate();
  return Buffer.from(text, 'hex');
}

export const certificateJson = (
  finding: Finding,
  issuances: IssuancesOfPage = new Map(),
): MonitoredCertificateSchema => ({
  tbs_sha256: finding.tbs_sha256.toString('hex'),
  id: finding.position,
  state: finding.state,
  reason: finding.reason,
  order: finding.order_name,
  cn: finding.cn,
  endpoints: finding.endpoints,
  endpoint_count: finding.endpoint_count,
  change: finding.alert?.change ?? null,
  found_at: timestamp(finding.found_at),
  source: finding.source,
  alerted_at: timestamp(finding.alerted_at),
  acknowledged_at: timestamp(finding.acknowledged_at),
  note: finding.note,
  issuance: issuances.get(finding.tbs_sha256.toString('hex')) ?? null,
});
