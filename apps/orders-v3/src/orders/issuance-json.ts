import { baseName, standingRecords } from '@certwright/dns-names';
import { type NameApproval, nextAttemptAt, phaseOf, recordStanding } from '@certwright/issuance';
import type { DelegationLabels } from '@certwright/approvals';
import type { LatestIssuance, RecordOfPlan } from '@certwright/ordering';
import type { StoredOrder } from './order';
import { messageOfOutcome } from '../wire/outcome-messages';
import { timestamp } from '../wire/timestamp';

export interface IssuanceFacts {
  /** The newest issuance of the order, open or not. */
  readonly latest: LatestIssuance | null;
  /** Of the order's names, without `*.`. */
  readonly labels: DelegationLabels;
  /** The secret in the path that the account's web servers redirect to; null: it is made with the next order. */
  readonly ruleSecret: string | null;
  /** How far the mailboxes of the order's names have been asked. */
  readonly mailboxes: readonly AskedMailbox[];
  readonly now: Date;
}

/** A mailbox that is asked to approve a name. */
export interface AskedMailbox {
  readonly dnsName: string;
  readonly address: string;
  readonly askedAt: Date | null;
  readonly approvedAt: Date | null;
}

/** Where approvals lead to. */
export interface ApprovalPlaces {
  /** The zone that standing approval records point into, without a dot at its end. */
  readonly approvalZone: string;
  /** Where web servers redirect to, without a slash at its end. */
  readonly approvalUrl: string;
}

/** What happens now, and what the caller can do about it. */
export function issuanceJson(order: StoredOrder, facts: IssuanceFacts, places: ApprovalPlaces): object {
  const { latest, now, ruleSecret } = facts;
  const phase = phaseOf(order, latest, now);
  const nextAttempt = nextAttemptAt(phase, latest, latest?.renewAt ?? null);
  const approvals = new Map(latest?.approvals.map((approval) => [approval.dnsName, approval]));
  return {
    phase,
    last_error: latest?.lastError
      ? { code: latest.lastError.code, message: messageOfOutcome(latest.lastError.outcome) }
      : null,
    next_attempt_at: instant(nextAttempt),
    names: order.dnsNames.map((dnsName) => ({
      ...approvalJson(dnsName, approvals.get(dnsName), nextAttempt),
      integration: integrationJson(dnsName, latest?.records ?? []),
      record: { options: recordOptions(dnsName, facts.labels.get(baseName(dnsName)), places) },
      rule: dnsName.startsWith('*.') || ruleSecret === null ? null : ruleJson(ruleSecret, places),
      email: emailJson(dnsName, order, facts.mailboxes),
    })),
  };
}

function approvalJson(dnsName: string, approval: NameApproval | undefined, nextAttempt: Date | null): object {
  const status = approval?.status ?? 'pending';
  return {
    dns_name: dnsName,
    approval_method: approval?.method ?? null,
    status,
    problem: messageOfOutcome(approval?.problem ?? null),
    checked_at: approval?.checkedAt ? timestamp(new Date(approval.checkedAt)) : null,
    next_check_at: status === 'pending' ? instant(nextAttempt) : null,
  };
}

/** The integration that publishes the name's standing record, and how far it is; null: none does. */
function integrationJson(dnsName: string, records: readonly RecordOfPlan[]): object | null {
  const record = records.find((each) => each.dnsName === baseName(dnsName));
  if (record === undefined) return null;
  // Ids fit the integers of JSON's numbers: a constraint of the table.
  const integrationId = Number(record.integrationId);
  const problem = messageOfOutcome(record.problem);
  return { integration_id: integrationId, state: recordStanding(record), problem };
}

/** Any one of these standing records approves the name, now and at every renewal. */
function recordOptions(
  dnsName: string,
  label: string | undefined,
  { approvalZone }: ApprovalPlaces,
): readonly object[] {
  return label === undefined ? [] : standingRecords(dnsName, label, approvalZone);
}

/**
 * Below which paths of its host a CA looks: the ACME challenge of RFC 8555, section 8.3, and the agreed-upon change to
 * a web site of the Baseline Requirements, section 3.2.2.4.18.
 */
const rulePathPrefixes = ['/.well-known/acme-challenge/', '/.well-known/pki-validation/'];

/** One rule of a web server approves every name it serves, now and at every renewal; never a wildcard (3.2.2.4.18 and .19). */
function ruleJson(secret: string, { approvalUrl }: ApprovalPlaces): object {
  return { path_prefixes: rulePathPrefixes, redirect_to: `${approvalUrl}/${secret}` };
}

/** Null where nobody is to be asked by email. */
function emailJson(
  dnsName: string,
  { approverEmails }: StoredOrder,
  mailboxes: readonly AskedMailbox[],
): object | null {
  const address = Object.hasOwn(approverEmails, dnsName) ? approverEmails[dnsName] : undefined;
  if (address === undefined) return null;
  const asked = mailboxes.find((mailbox) => mailbox.dnsName === dnsName && mailbox.address === address);
  return {
    address,
    asked_at: instant(asked?.askedAt ?? null),
    approved_at: instant(asked?.approvedAt ?? null),
  };
}

function instant(date: Date | null): string | null {
  return date === null ? null : timestamp(date);
}
