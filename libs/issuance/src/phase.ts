import type { Issuance } from './issuance';
import type { Plan } from './plan';

/** What happens now, in one word, so that a caller is never left guessing. */
export const phases = [
  'idle',
  'awaiting_csr',
  'awaiting_approval',
  'issuing',
  'backoff',
  'rate_limited',
  'paused',
  'failed',
] as const;
export type Phase = (typeof phases)[number];

/** @param latest the newest issuance of the plan, open or not */
export function phaseOf(
  plan: Pick<Plan, 'paused' | 'termsId'>,
  latest: Pick<Issuance, 'state' | 'termsId' | 'approvals' | 'failures' | 'dueAt'> | null,
  now: Date,
): Phase {
  if (plan.paused) return 'paused';
  if (plan.termsId === null) return 'awaiting_csr';
  if (latest === null) return 'idle';
  if (latest.state === 'failed' || latest.state === 'canceled') return 'failed';
  if (latest.state !== 'open') return 'idle';
  if (latest.failures > 0 && latest.dueAt.getTime() > now.getTime()) return 'backoff';
  if (latest.approvals.some(({ status }) => status === 'pending')) return 'awaiting_approval';
  return 'issuing';
}

/** When something will next be tried by itself; null when only the caller can move it. */
export function nextAttemptAt(phase: Phase, latest: Pick<Issuance, 'dueAt'> | null): Date | null {
  const moves: Record<Phase, boolean> = {
    idle: false,
    awaiting_csr: false,
    awaiting_approval: true,
    issuing: true,
    backoff: true,
    rate_limited: true,
    paused: false,
    failed: false,
  };
  return latest !== null && moves[phase] ? latest.dueAt : null;
}
