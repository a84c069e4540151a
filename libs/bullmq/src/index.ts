export { JobQueues } from './job-queues';
export { type Handlers, type JobsOf, type RunnerEvents, type RunningJobs, runJobs } from './job-runner';
export {
  JobProcessors,
  JobProcessorsModule,
  JobQueuesModule,
  type JobsOptions,
  Processor,
} from './jobs.module';
