import { standingRecords } from '@certwright/dns-names';
import type { ApprovalMethod, ApprovalWay } from '@certwright/issuance';
import type { DelegationLabels } from '@certwright/approvals';
import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { ApiList } from './openapi/members';

/** Targets of approvals. */
export interface ApprovalPlaces {
  /** The zone that standing approval records point into, without a dot at its end. */
  readonly approvalZone: string;
  /** Redirect target of web servers, without a trailing slash. */
  readonly approvalUrl: string;
}

/** Data shown with the approvals of one account. */
export interface ApprovalFacts {
  /** For every place of a record. */
  readonly labels: DelegationLabels;
  /** The secret in the path that the account's web servers redirect to; null: not requested yet. */
  readonly ruleSecret: string | null;
}

/** Whether an approval is in place; undefined: not requested. */
type Ready = boolean | undefined;

/** JSON form of one name's approval. */
export interface ShownApproval {
  readonly way: Pick<ApprovalWay, 'method' | 'approverEmail'>;
  /** The name whose standing record counts, without `*.`. */
  readonly recordPlace: string;
  readonly ready: { readonly dns: Ready; readonly http: Ready };
}

export const approvalMethods = ['email', 'http', 'dns'] as const satisfies readonly ApprovalMethod[];

@ApiSchema({ name: 'ApprovalStatus' })
class ApprovalStatusJson {
  @ApiProperty({ description: 'Whether it is in place.' }) ready: boolean;
}

@ApiSchema({ name: 'ApprovalRecord' })
class ApprovalRecordJson {
  @ApiProperty({ description: 'With a dot at the end.' }) name: string;
  @ApiProperty({ description: 'CNAME or NS.' }) type: string;
  @ApiProperty({ description: 'Data of the record.' }) value: string;
}

@ApiSchema({ name: 'DnsApproval' })
class DnsApprovalJson {
  @ApiList(ApprovalRecordJson, 'Any one of them approves the name.') options: readonly ApprovalRecordJson[];
  @ApiPropertyOptional({ description: 'Expandable.' }) status?: ApprovalStatusJson;
}

@ApiSchema({ name: 'HttpApproval' })
class HttpApprovalJson {
  @ApiPropertyOptional({ type: [String], description: 'Paths that the web server is to redirect.' })
  path_prefixes?: readonly string[];
  @ApiPropertyOptional({ description: 'What the request path is appended to.' }) redirect_to?: string;
  @ApiPropertyOptional({ description: 'Expandable.' }) status?: ApprovalStatusJson;
}

/** The members that a certificate object and a SAN have in common, besides approval_method. */
export class ApprovalDetailsJson {
  @ApiPropertyOptional({ description: 'Present if and only if approval_method is email.' })
  approver_email?: string;
  @ApiPropertyOptional({ description: 'Present if and only if approval_method is dns.' })
  dns_approval?: DnsApprovalJson;
  @ApiPropertyOptional({ description: 'Present if and only if approval_method is http.' })
  http_approval?: HttpApprovalJson;
}

@ApiSchema({ name: 'San' })
export class SanJson extends ApprovalDetailsJson {
  @ApiProperty({ enum: ['dns'] }) type: 'dns';
  @ApiProperty({ description: 'Host name.' }) value: string;
  @ApiProperty({ enum: approvalMethods }) approval_method: ApprovalMethod;
}

export function approvalJson(
  { way, recordPlace, ready }: ShownApproval,
  { labels, ruleSecret }: ApprovalFacts,
  { approvalZone, approvalUrl }: ApprovalPlaces,
): ApprovalDetailsJson & Pick<SanJson, 'approval_method'> {
  const { method: approval_method, approverEmail } = way;
  switch (approval_method) {
    case 'email':
      return { approval_method, ...(approverEmail === null ? {} : { approver_email: approverEmail }) };
    case 'http': {
      const rule = ruleSecret === null ? {} : ruleJson(`${approvalUrl}/${ruleSecret}`);
      return { approval_method, http_approval: { ...rule, ...statusJson(ready.http) } };
    }
    case 'dns': {
      const label = labels.get(recordPlace);
      const options = label === undefined ? [] : standingRecords(recordPlace, label, approvalZone);
      return { approval_method, dns_approval: { options, ...statusJson(ready.dns) } };
    }
  }
}

/**
 * Below which paths of its host a CA looks: the ACME challenge of RFC 8555, section 8.3, and the agreed-upon change to a web
 * site of the Baseline Requirements, section 3.2.2.4.18.
 */
const rulePathPrefixes = ['/.well-known/acme-challenge/', '/.well-known/pki-validation/'];

/** A web server that leads requests below the prefixes there is approved, now and at every renewal. */
function ruleJson(redirect_to: string): HttpApprovalJson {
  return { path_prefixes: rulePathPrefixes, redirect_to };
}

function statusJson(ready: Ready): Pick<DnsApprovalJson, 'status'> {
  return ready === undefined ? {} : { status: { ready } };
}
