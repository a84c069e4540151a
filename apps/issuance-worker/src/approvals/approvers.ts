import { EmailApprovals, HttpChallenges } from '@certwright/persistence';
import type { INestApplicationContext } from '@nestjs/common';
import type { Config } from '../config';
import type { LookUp } from '../dns-lookup/answer';
import type { Approver } from './approver';
import { DnsApprover } from './dns-approver';
import { EmailApprover } from './email-approver';
import { HttpApprover, type Probe } from './http-approver';

const dayMs = 24 * 60 * 60 * 1_000;

export function approvalReuseMs(config: Pick<Config, 'APPROVAL_REUSE_DAYS'>): number {
  return config.APPROVAL_REUSE_DAYS * dayMs;
}

/** In the order in which they are asked: what works without anybody's doing first, and people last. */
export function approversOf(
  config: Pick<Config, 'APPROVAL_REUSE_DAYS' | 'APPROVAL_ZONE'>,
  context: INestApplicationContext,
  lookUp: LookUp,
  probe: Probe,
): readonly Approver[] {
  return [
    new DnsApprover(lookUp, config.APPROVAL_ZONE),
    new HttpApprover(context.get(HttpChallenges), probe),
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
