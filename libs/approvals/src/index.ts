export { ApprovalsModule } from './approvals.module';
export { ApprovalRecords } from './approval-records/approval-records';
export { type ChallengeRecord, Challenges } from './challenges/challenges';
export { type DelegationLabels, Delegations } from './delegations/delegations';
export { type MailboxState, EmailApprovals, type Mailbox } from './email-approvals/email-approvals';
export { secondsToNextMail } from './email-approvals/next-mails';
export { IssuanceWakeUps } from './issuance-wake-ups/issuance-wake-ups';
export { type HttpChallenge, HttpChallenges } from './web-rules/http-challenges';
export { WebRules } from './web-rules/web-rules';
