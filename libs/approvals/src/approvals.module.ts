import { Module } from '@nestjs/common';
import { DeliveryModule } from '@certwright/delivery';
import { ApprovalRecords } from './approval-records/approval-records';
import { Challenges } from './challenges/challenges';
import { Delegations } from './delegations/delegations';
import { EmailApprovals } from './email-approvals/email-approvals';
import { IssuanceWakeUps } from './issuance-wake-ups/issuance-wake-ups';
import { StandingApprovals } from './standing-approvals';
import { HttpChallenges } from './web-rules/http-challenges';
import { WebRules } from './web-rules/web-rules';

const providers = [
  ApprovalRecords,
  Challenges,
  Delegations,
  EmailApprovals,
  IssuanceWakeUps,
  HttpChallenges,
  WebRules,
  StandingApprovals,
];

/** Proofs that an account controls a name: standing DNS records, web rules, mailboxes, and challenges of CAs. */
@Module({ imports: [DeliveryModule], providers, exports: providers })
export class ApprovalsModule {}
