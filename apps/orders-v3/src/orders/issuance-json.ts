import type { DelegationLabels } from '@certwright/approvals';
import { baseName, type StandingRecord, standingRecords } from '@certwright/dns-names';
import {
  type ApprovalMethod,
  type NameApproval,
  nextAttemptAt,
  type Phase,
  phaseOf,
  phases,
  recordStanding,
  type RecordStanding,
} from '@certwright/issuance';
import { MonitoredEndpointSchema } from '@certwright/monitored-endpoints';
import type { LatestIssuance, RecordOfPlan } from '@certwright/ordering';
import { timestamp } from '@certwright/service';
import { ApiProperty } from '@nestjs/swagger';
import { messageOfOutcome } from '../wire/outcome-messages';
import type { AwaitedKey } from './awaited-keys';
import type { StoredOrder } from './order';
import type { OrderEndpoints } from './order-endpoints';

/**
 * The paths of its host that a CA requests: the ACME challenge of RFC 8555, section 8.3, and the agreed-upon change to a
 * website of the Baseline Requirements, section 3.2.2.4.18.
 */
const rulePathPrefixes = ['/.well-known/acme-challenge/', '/.well-known/pki-validation/'];

export class IssuanceErrorSchema {
  @ApiProperty({ example: 'approval_timeout' })
  code: string;

  @ApiProperty({
    description:
      'What went wrong, and what to do. With ca_unavailable: which CA, and, when it is down, since when and when it is probed next.',
  })
  message: string;
}

export class RecordOptionSchema {
  @ApiProperty({ example: '_acme-challenge.example.com.' })
  name: string;

  @ApiProperty({ enum: ['CNAME', 'NS'] })
  type: StandingRecord['type'];

  @ApiProperty({ example: 'mfrggzdfmztwq2lknnwg23tpobyxe43u.approve.certwright.test.' })
  value: string;
}

export class ApprovalRecordSchema {
  @ApiProperty({
    type: [RecordOptionSchema],
    description: 'Any one of these standing records approves the name.',
  })
  options: readonly RecordOptionSchema[];
}

export class ApprovalRuleSchema {
  @ApiProperty({ type: [String], example: rulePathPrefixes })
  path_prefixes: readonly string[];

  @ApiProperty({
    format: 'uri',
    example: 'http://approve.example.net/mfrggzdfmztwq2lknnwg23tpobyxe43u',
    description:
      'Requests below the prefixes are redirected or proxied to this address followed by their own path. The same for every name of the account.',
  })
  redirect_to: string;
}

export class ApprovalEmailSchema {
  @ApiProperty({ format: 'email', example: 'hostmaster@example.com' })
  address: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'null: not sent yet.' })
  asked_at: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  approved_at: string | null;
}

export class NameIntegrationSchema {
  @ApiProperty({ format: 'int64', example: 172594820411904 })
  integration_id: number;

  @ApiProperty({
    enum: ['waiting', 'standing', 'failing'],
    description:
      '`standing`: every authoritative server of the zone returns the record. `failing`: it is tried again by itself, or once the order is posted again; see `problem`.',
  })
  state: RecordStanding;

  @ApiProperty({ type: String, nullable: true, description: 'What it waits for, or what went wrong.' })
  problem: string | null;
}

export class NameApprovalSchema {
  @ApiProperty({ example: 'example.com' })
  dns_name: string;

  @ApiProperty({
    enum: ['dns', 'http', 'email'],
    type: String,
    nullable: true,
    description: 'What approved the name.',
  })
  approval_method: ApprovalMethod | null;

  @ApiProperty({ enum: ['pending', 'approved'] })
  status: NameApproval['status'];

  @ApiProperty({ type: String, nullable: true, description: 'What the last check found.' })
  problem: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  checked_at: string | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When a pending name is checked next; null: only a change of the order moves it.',
  })
  next_check_at: string | null;

  @ApiProperty({
    type: NameIntegrationSchema,
    nullable: true,
    description:
      'The DNS integration of the account that publishes the standing record; null when none covers the name.',
  })
  integration: NameIntegrationSchema | null;

  @ApiProperty()
  record: ApprovalRecordSchema;

  @ApiProperty({
    type: ApprovalRuleSchema,
    nullable: true,
    description: 'A rule of the web server approves the name; null for wildcards, which it cannot approve.',
  })
  rule: ApprovalRuleSchema | null;

  @ApiProperty({
    type: ApprovalEmailSchema,
    nullable: true,
    description: 'Null unless approver_emails names an address.',
  })
  email: ApprovalEmailSchema | null;
}

export class IssuanceSchema {
  @ApiProperty({ enum: phases })
  phase: Phase;

  @ApiProperty({ type: IssuanceErrorSchema, nullable: true })
  last_error: IssuanceErrorSchema | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description:
      'When the next attempt begins at the latest; an unchanged POST of the order begins one at once. null: only a change of the order moves it.',
  })
  next_attempt_at: string | null;

  @ApiProperty({ type: [NameApprovalSchema] })
  names: readonly NameApprovalSchema[];

  @ApiProperty({
    type: [MonitoredEndpointSchema],
    nullable: true,
    description:
      'What checks of the servers of these names found, as the monitoring API shows it. Names that are not monitored have no endpoint. Null: too large for this response; retrieve the order alone, or its endpoints from the monitoring API.',
  })
  endpoints: OrderEndpoints;
}

/** Data for `issuance`. */
export interface IssuanceContext {
  /** The newest issuance of the order, open or not. */
  readonly latest: LatestIssuance | null;
  /** Of the order's names, without `*.`. */
  readonly labels: DelegationLabels;
  /** The secret in the path that the account's web servers redirect to; null: it is made with the next order. */
  readonly ruleSecret: string | null;
  readonly mailboxes: readonly RequestedMailbox[];
  readonly endpoints: OrderEndpoints;
  readonly now: Date;
}

/** A mailbox that receives a request to approve a name. */
export interface RequestedMailbox {
  readonly dnsName: string;
  readonly address: string;
  readonly askedAt: Date | null;
  readonly approvedAt: Date | null;
}

/** Targets of approvals. */
export interface ApprovalPlaces {
  /** The zone that standing approval records point into, without a dot at its end. */
  readonly approvalZone: string;
  /** Redirect target of web servers, without a trailing slash. */
  readonly approvalUrl: string;
}

/** Current activity, and possible actions of the caller. */
export function issuanceJson(
  order: StoredOrder,
  context: IssuanceContext & { readonly awaitedKey: AwaitedKey | null },
  places: ApprovalPlaces,
): IssuanceSchema {
  const { latest, now } = context;
  const phase = phaseOf(order, latest, now);
  const nextAttempt = nextAttemptAt(phase, latest, latest?.renewAt ?? null);
  const approvals = new Map(latest?.approvals.map((approval) => [approval.dnsName, approval]));
  const shared = { context, places, nextAttempt, approvals };
  return {
    phase,
    last_error: lastError(latest, context.awaitedKey),
    next_attempt_at: timestamp(nextAttempt),
    names: order.dnsNames.map((dnsName) => nameJson(dnsName, order, shared)),
    endpoints: context.endpoints,
  };
}

/** While a key is awaited, an earlier error of the issuance is over. */
function lastError(latest: LatestIssuance | null, awaitedKey: AwaitedKey | null): IssuanceErrorSchema | null {
  const missing = awaitedKey === null ? null : missingKey(awaitedKey);
  if (missing !== null || awaitedKey?.reason === 'first') return missing;
  if (!latest?.lastError) return null;
  return { code: latest.lastError.code, message: messageOfOutcome(latest.lastError.outcome) };
}

/** Why an order waits for the agents of its cluster; null: an agent is about to respond. */
function missingKey({ cluster, isUnpaid, agents, lastSeenAt }: AwaitedKey): IssuanceErrorSchema | null {
  if (isUnpaid) {
    const message =
      'Balance and credit limit of the account do not cover the certificate. It is tried again every hour, and at once when the order is posted again.';
    return { code: 'payment_required', message };
  }
  if (agents === 'none') {
    const message = `The cluster ${cluster} has no agents: enrol one, which makes the key.`;
    return { code: 'no_agents', message };
  }
  if (agents === 'online') return null;
  const since = lastSeenAt === null ? '' : ` since ${timestamp(lastSeenAt)}`;
  const message = `No agent of the cluster ${cluster} was seen${since}: start an agent, which makes the key.`;
  return { code: 'agents_offline', message };
}

interface SharedContext {
  readonly context: IssuanceContext;
  readonly places: ApprovalPlaces;
  readonly nextAttempt: Date | null;
  /** By DNS name. */
  readonly approvals: ReadonlyMap<string, NameApproval>;
}

function nameJson(
  dnsName: string,
  order: StoredOrder,
  { context, places, nextAttempt, approvals }: SharedContext,
): NameApprovalSchema {
  const { latest, labels, ruleSecret, mailboxes } = context;
  const approval = approvals.get(dnsName);
  const status = approval?.status ?? 'pending';
  const label = labels.get(baseName(dnsName));
  return {
    dns_name: dnsName,
    approval_method: approval?.method ?? null,
    status,
    problem: messageOfOutcome(approval?.problem ?? null),
    checked_at: approval?.checkedAt ? timestamp(new Date(approval.checkedAt)) : null,
    next_check_at: status === 'pending' ? timestamp(nextAttempt) : null,
    integration: integrationJson(dnsName, latest?.records ?? []),
    record: { options: label === undefined ? [] : standingRecords(dnsName, label, places.approvalZone) },
    // The Baseline Requirements, sections 3.2.2.4.18 and 3.2.2.4.19, exclude wildcards.
    rule:
      dnsName.startsWith('*.') || ruleSecret === null
        ? null
        : { path_prefixes: rulePathPrefixes, redirect_to: `${places.approvalUrl}/${ruleSecret}` },
    email: emailJson(dnsName, order, mailboxes),
  };
}

/** The integration that publishes the name's standing record. */
function integrationJson(dnsName: string, records: readonly RecordOfPlan[]): NameIntegrationSchema | null {
  const record = records.find((each) => each.dnsName === baseName(dnsName));
  if (record === undefined) return null;
  // Ids fit the integers of JSON's numbers: a constraint of the table.
  const integrationId = Number(record.integrationId);
  const problem = messageOfOutcome(record.problem);
  return { integration_id: integrationId, state: recordStanding(record), problem };
}

/** Null unless an address may approve the name. */
function emailJson(
  dnsName: string,
  { approverEmails }: StoredOrder,
  mailboxes: readonly RequestedMailbox[],
): ApprovalEmailSchema | null {
  const address = Object.hasOwn(approverEmails, dnsName) ? approverEmails[dnsName] : undefined;
  if (address === undefined) return null;
  const asked = mailboxes.find((mailbox) => mailbox.dnsName === dnsName && mailbox.address === address);
  return {
    address,
    asked_at: timestamp(asked?.askedAt ?? null),
    approved_at: timestamp(asked?.approvedAt ?? null),
  };
}
