export {
  advanceIssuance,
  currentCertificateChanged,
  deliverWebhook,
  keepIntegration,
  revokeCertificate,
  sendMail,
  type Job,
  type JobName,
  jobNames,
  type JobPayloads,
  queueOf,
} from './jobs';
export {
  noProbeAnswer,
  type ProbeHop,
  type ProbeMessages,
  probePatienceMs,
  probeWithinMs,
  type WebRuleAnswer,
  type WebRuleQuestion,
} from './probe';
export { type QueueName, queueNames, type QueueOptions, queues } from './queues';
export { type DueRow, nudgeRevision } from './nudge-revision';
