export {
  advanceIssuance,
  currentCertificateChanged,
  currentInstanceChanged,
  deliverWebhook,
  keepIntegration,
  revokeCertificate,
  sendMail,
  type Job,
  type JobCause,
  type JobName,
  type JobPayloads,
  queueOf,
} from './jobs';
export {
  type CaaOfNameAnswer,
  type CaaOfNameQuestion,
  caaPatienceMs,
  caaVerdicts,
  caaWithinMs,
  maxCaaRecords,
  maxIssuerDomains,
  noCaaAnswer,
  noProbeAnswer,
  type ProbeHop,
  type ProbeMessages,
  probePatienceMs,
  probeWithinMs,
  type WebRuleAnswer,
  type WebRuleQuestion,
} from './probe';
export { type QueueName, queueNames, queues } from './queues';
export { causeOfRow, type DueRow, type TracedRow, wakeUpRevision } from './wake-up-revision';
