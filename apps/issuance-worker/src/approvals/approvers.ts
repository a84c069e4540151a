import type { ApprovalRecords, EmailApprovals, HttpChallenges, WebRules } from '@certwright/approvals';
import type { NameServers } from '../name-servers/name-servers';
import type { Config } from '../config';
import type { LookUp } from '@certwright/dns-lookup';
import type { Approver } from './approver';
import { DnsApprover } from './dns-approver';
import { EmailApprover } from './email-approver';
import { HttpApprover, type Probe } from './http-approver';
import { parentDelegation } from './parent-delegation';

const dayMs = 24 * 60 * 60 * 1_000;

export function approvalReuseMs(config: Pick<Config, 'APPROVAL_REUSE_DAYS'>): number {
  return config.APPROVAL_REUSE_DAYS * dayMs;
}

/** DNS clients: the resolver, and the servers of a zone themselves. */
interface Looking {
  readonly lookUp: LookUp;
  readonly nameServers: NameServers;
}

/** Rows of each kind of approval. */
interface StoredApprovals {
  readonly records: ApprovalRecords;
  readonly challenges: HttpChallenges;
  readonly rules: WebRules;
  readonly emails: EmailApprovals;
}

/** In the order in which they are called: automatic methods first, people last. */
export function approversOf(
  config: Pick<Config, 'APPROVAL_REUSE_DAYS' | 'APPROVAL_ZONE'>,
  { records, challenges, rules, emails }: StoredApprovals,
  { lookUp, nameServers }: Looking,
  probe: Probe,
): readonly Approver[] {
  const doubt = async (recordId: string) => await records.doubt(recordId);
  return [
    new DnsApprover(lookUp, config.APPROVAL_ZONE, doubt, parentDelegation(lookUp, nameServers)),
    new HttpApprover(challenges, rules, probe),
    new EmailApprover(emails, approvalReuseMs(config)),
  ];
}
