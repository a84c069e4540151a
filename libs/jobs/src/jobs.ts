import type { QueueName } from './queues';

/** Payloads, by job name. Ids only. */
export interface JobPayloads {
  /** Take the next steps of one issuance. */
  'advance-issuance': { readonly issuanceId: string };
}

export type JobName = keyof JobPayloads;

/** Which queue carries which job. */
export const queueOf = {
  'advance-issuance': 'issuance',
} as const satisfies Record<JobName, QueueName>;

export const jobNames = Object.keys(queueOf) as JobName[];

export interface Job<N extends JobName = JobName> {
  readonly name: N;
  /** `<job>-<row id>-<revision>`; a second job with an id that is still queued is dropped by Redis, which is what we want. */
  readonly id: string;
  readonly payload: JobPayloads[N];
}

/** @param revision how often the issuance was leased so far: a nudge for the next look is not lost behind the present one */
export function advanceIssuance(issuanceId: string, revision: string | number): Job<'advance-issuance'> {
  return {
    name: 'advance-issuance',
    id: `advance-issuance-${issuanceId}-${revision}`,
    payload: { issuanceId },
  };
}
