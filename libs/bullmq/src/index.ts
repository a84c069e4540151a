export { JobQueues } from './job-queues';
export { type RunningJobs, runJobs } from './job-runner';
export {
  JobProcessors,
  JobProcessorsModule,
  JobQueuesModule,
  type JobsOptions,
  Processor,
} from './jobs.module';
