import { ApprovalRecords, EmailApprovals, HttpChallenges, WebRules } from '@certwright/approvals';
import type { INestApplicationContext } from '@nestjs/common';
import type { NameServers } from '../name-servers/name-servers';
import type { Config } from '../config';
import type { LookUp } from '../dns-lookup/answer';
import type { Approver } from './approver';
import { DnsApprover } from './dns-approver';
import { EmailApprover } from './email-approver';
import { HttpApprover, type Probe } from './http-approver';
import { parentDelegation } from './parent-delegation';

const dayMs = 24 * 60 * 60 * 1_000;

export function approvalReuseMs(config: Pick<Config, 'APPROVAL_REUSE_DAYS'>): number {
  return config.APPROVAL_REUSE_DAYS * dayMs;
}

/** Where DNS is asked: at the resolver, and at the servers of a zone themselves. */
interface Looking {
  readonly lookUp: LookUp;
  readonly nameServers: NameServers;
}

/** In the order in which they are asked: what works without anybody's doing first, and people last. */
export function approversOf(
  config: Pick<Config, 'APPROVAL_REUSE_DAYS' | 'APPROVAL_ZONE'>,
  context: INestApplicationContext,
  { lookUp, nameServers }: Looking,
  probe: Probe,
): readonly Approver[] {
  const records = context.get(ApprovalRecords);
  const doubt = async (recordId: string) => await records.doubt(recordId);
  return [
    new DnsApprover(lookUp, config.APPROVAL_ZONE, doubt, parentDelegation(lookUp, nameServers)),
    new HttpApprover(context.get(HttpChallenges), context.get(WebRules), probe),
    new EmailApprover(context.get(EmailApprovals), approvalReuseMs(config)),
  ];
}

/** Challenges and links that nobody can use any more are looked for so often, ms. */
const forgettingRestMs = 10 * 60 * 1_000;

/** A round that removes what has expired; may run in any number of workers. @returns ms to the next round */
export function forgetExpiredApprovals(context: INestApplicationContext): () => Promise<number> {
  const challenges = context.get(HttpChallenges);
  const emails = context.get(EmailApprovals);
  return async () => {
    await challenges.forgetExpired();
    await emails.forgetExpired();
    return forgettingRestMs;
  };
}
