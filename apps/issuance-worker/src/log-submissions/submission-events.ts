import type { DueSubmission, LogPromise } from './log-submissions';
import type { RunningProcess } from '@certwright/service';
import { Counter } from 'prom-client';

export interface SubmissionEvents {
  logged(submission: DueSubmission, promise: LogPromise): void;
  refused(submission: DueSubmission, problem: string): void;
  unavailable(logUrl: string, problem: string, restMs: number): void;
}

/** Log lines and metrics of submissions to Certificate Transparency logs. */
export function observeSubmissions({
  log,
  metrics: { registry },
}: Pick<RunningProcess, 'log' | 'metrics'>): SubmissionEvents {
  const submissions = new Counter({
    name: 'certwright_log_submissions_total',
    help: 'Certificates submitted to Certificate Transparency logs, by log and outcome',
    labelNames: ['log', 'outcome'],
    registers: [registry],
  });
  return {
    logged: ({ certificateId, logUrl, attempts }, { loggedAt }) => {
      submissions.inc({ log: logUrl, outcome: 'logged' });
      log.info(
        { certificate: certificateId, log: logUrl, attempts, logged_at: loggedAt },
        'certificate logged',
      );
    },
    refused: ({ certificateId, logUrl, attempts }, reason) => {
      submissions.inc({ log: logUrl, outcome: 'refused' });
      log.warn(
        { certificate: certificateId, log: logUrl, attempts, reason },
        'log refused a certificate; retrying',
      );
    },
    unavailable: (logUrl, reason, restMs) => {
      submissions.inc({ log: logUrl, outcome: 'unavailable' });
      log.warn({ log: logUrl, reason, rest_ms: restMs }, 'log unavailable; certificates wait');
    },
  };
}
