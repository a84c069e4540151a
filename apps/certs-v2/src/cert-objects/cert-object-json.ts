import type { AccountSubject } from '@certwright/accounts';
import { isWildcard } from '@certwright/dns-names';
import type { ApprovalMethod } from '@certwright/issuance';
import { encodePem } from '@certwright/pki';
import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import type { ReadyApprovals } from './approval-statuses';
import type { PlacedWay } from './approval-ways';
import { type CertType, certTypes, defaultSanOf, type StoredCertObject } from './cert-object';
import { InstanceJson } from '../instances/instance-json';
import {
  ApprovalDetailsJson,
  type ApprovalFacts,
  approvalJson,
  approvalMethods,
  type ApprovalPlaces,
  SanJson,
} from '../wire/approval-json';
import type { Expansion } from '../wire/expansion';
import { ApiList, ApiNullable } from '../wire/openapi/members';

export interface CertObjectFacts extends ApprovalFacts {
  readonly subject: AccountSubject;
  readonly ready: ReadyApprovals;
  /** How each name of the object is approved. */
  readonly ways: ReadonlyMap<string, PlacedWay>;
  /** Instances in their JSON form; null: there is none. */
  readonly current: InstanceJson | null;
  readonly pending: InstanceJson | null;
  /** Only a purchase renews it. */
  readonly subscriptionEnding: boolean;
}

export interface CertObjectPlaces extends ApprovalPlaces {
  /** In front of download tokens, without a slash at its end. */
  readonly downloadUrl: string;
}

@ApiSchema({ name: 'CertObject' })
export class CertObjectJson extends ApprovalDetailsJson {
  @ApiProperty({ description: 'Whether the account has a certificate of this common name.' }) exists: boolean;
  @ApiProperty({ description: 'Common name, in lower case.' }) cn: string;
  @ApiProperty({ description: 'Whether the common name begins with *.' }) wildcard: boolean;
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Distinguished name for a CSR.',
  })
  dn: Readonly<Record<string, string>>;
  @ApiProperty({ description: 'Renewed automatically before it expires.' }) auto_renew: boolean;
  @ApiProperty({ description: 'No reminders are sent.' }) muted: boolean;
  @ApiProperty({ type: String, enum: approvalMethods, nullable: true })
  approval_method: ApprovalMethod | null;
  @ApiProperty({ type: String, enum: certTypes, nullable: true }) type: CertType | null;
  @ApiProperty({ type: [SanJson], nullable: true, description: 'Null: default SANs.' })
  sans: readonly SanJson[] | null;
  @ApiPropertyOptional({ description: 'Only while sans is null: the name that is added.' })
  default_san?: SanJson;
  @ApiList(String, 'In the order in which they were given.') tags: readonly string[];
  @ApiPropertyOptional({ description: 'Expandable. PEM.' }) csr?: string;
  @ApiNullable(String, 'Of the DER public key of the CSR. SHA-256, lower-case hex.')
  pubkey_hash: string | null;
  @ApiNullable(String, 'Address of the current certificate and its chain; needs no credentials.')
  current_download: string | null;
  @ApiPropertyOptional({ type: InstanceJson, nullable: true, description: 'Expandable.' })
  current?: InstanceJson | null;
  @ApiPropertyOptional({ type: InstanceJson, nullable: true, description: 'Expandable.' })
  pending?: InstanceJson | null;
  @ApiNullable('integer', 'End of the term that was bought. UNIX time in seconds.')
  billed_through: number | null;
  @ApiProperty({
    description:
      'True when no term is running, or a reissue cannot outlast the active instance: buy to renew. False: reissue.',
  })
  subscription_ending: boolean;
}

export function certObjectJson(
  object: StoredCertObject,
  expansion: Expansion,
  facts: CertObjectFacts,
  places: CertObjectPlaces,
): CertObjectJson {
  const { cn, sans } = object;
  const nameJson = nameJsonIn(expansion, facts, places);
  const sanJson = (value: string): SanJson => ({ type: 'dns', value, ...nameJson(value, 'sans') });
  return {
    exists: true,
    ...subjectJson(cn, facts.subject),
    auto_renew: object.autoRenew,
    muted: object.muted,
    ...nameJson(cn, null),
    type: object.type,
    sans: sans === null ? null : sans.map(({ value }) => sanJson(value)),
    ...(sans === null ? { default_san: sanJson(defaultSanOf(cn)) } : {}),
    tags: object.tags,
    ...(expansion.has('csr') ? { csr: encodePem('CERTIFICATE REQUEST', object.csr.der) } : {}),
    pubkey_hash: Buffer.from(object.csr.spkiSha256).toString('hex'),
    current_download: `${places.downloadUrl}/${object.downloadToken}`,
    ...instancesJson(expansion, facts),
    billed_through: object.paidThrough === null ? null : Math.floor(object.paidThrough.getTime() / 1_000),
    subscription_ending: facts.subscriptionEnding,
  };
}

/** A common name that the account has no object of. */
export function missingCertObjectJson(
  cn: string,
  subject: AccountSubject,
  expansion: Expansion,
): CertObjectJson {
  return {
    exists: false,
    ...subjectJson(cn, subject),
    auto_renew: true,
    muted: false,
    approval_method: null,
    type: null,
    sans: null,
    tags: [],
    pubkey_hash: null,
    current_download: null,
    ...instancesJson(expansion, { current: null, pending: null }),
    billed_through: null,
    subscription_ending: true,
  };
}

/** Default for accounts without a country: a CSR must have one. */
const defaultCountry = 'US';

function subjectJson(
  cn: string,
  { country, state, locality, organization }: AccountSubject,
): Pick<CertObjectJson, 'cn' | 'wildcard' | 'dn'> {
  const dn = {
    C: country ?? defaultCountry,
    ...(state === null ? {} : { ST: state }),
    ...(locality === null ? {} : { L: locality }),
    ...(organization === null ? {} : { O: organization }),
    CN: cn,
  };
  return { cn, wildcard: isWildcard(cn), dn };
}

function instancesJson(
  expansion: Expansion,
  { current, pending }: Pick<CertObjectFacts, 'current' | 'pending'>,
): Pick<CertObjectJson, 'current' | 'pending'> {
  return {
    ...(expansion.has('current') ? { current } : {}),
    ...(expansion.has('pending') ? { pending } : {}),
  };
}

/**
 * JSON form of an object's names. `dns_approval.status` applies to the object and each SAN;
 * `sans.dns_approval.status` only to the SANs.
 */
function nameJsonIn(
  expansion: Expansion,
  { ways, ready, ...facts }: CertObjectFacts,
  places: ApprovalPlaces,
): (dnsName: string, within: 'sans' | null) => ReturnType<typeof approvalJson> {
  return (dnsName, within) => {
    const way = ways.get(dnsName);
    if (way === undefined) throw new Error(`no approval method for ${dnsName}`);
    const wanted =
      wantsStatus(expansion, way.method) ||
      (within !== null && wantsStatus(expansion.below(within), way.method));
    const isReady = wanted ? ready.has(way) : undefined;
    const shown = { way, recordPlace: way.recordPlace, ready: { dns: isReady, http: isReady } };
    return approvalJson(shown, facts, places);
  };
}

/** Whether the response includes if approvals by this method are in place; unknown for email. */
export function wantsStatus(expansion: Expansion, method: ApprovalMethod): boolean {
  return method !== 'email' && expansion.below(`${method}_approval`).has('status');
}
