export {
  advanceIssuance,
  currentCertificateChanged,
  currentInstanceChanged,
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
export { type QueueName, queueNames, type QueueOptions, queues } from './queues';
export { type DueRow, wakeUpRevision } from './wake-up-revision';
