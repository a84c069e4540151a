export {
  advanceIssuance,
  currentCertificateChanged,
  deliverWebhook,
  revokeCertificate,
  sendMail,
  type Job,
  type JobName,
  jobNames,
  type JobPayloads,
  queueOf,
} from './jobs';
export { type QueueName, queueNames, type QueueOptions, queues } from './queues';
