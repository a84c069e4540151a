import type { Issuance } from './issuance';
import type { Plan } from './plan';

/** Current activity in one word, shown to callers. */
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
  latest: Pick<
    Issuance,
    'state' | 'termsId' | 'approvals' | 'failures' | 'dueAt' | 'lastError' | 'waitsFor'
  > | null,
  now: Date,
): Phase {
  if (plan.paused) return 'paused';
  if (plan.termsId === null) return 'awaiting_csr';
  if (latest === null) return 'idle';
  if (latest.state === 'failed' || latest.state === 'canceled') return 'failed';
  if (latest.state !== 'open') return 'idle';
  if (latest.dueAt.getTime() > now.getTime()) {
    if (latest.lastError?.code === 'rate_limited') return 'rate_limited';
    // An issuance after a failure that has not failed itself clears the error.
    const isHeldBack = latest.failures > 0 || (latest.waitsFor ?? null) !== null;
    if (isHeldBack && latest.lastError !== null) return 'backoff';
  }
  if (latest.approvals.some(({ status }) => status === 'pending')) return 'awaiting_approval';
  return 'issuing';
}

/**
 * Time of the next automatic attempt; null when only the caller can continue.
 *
 * @param renewAt when the current certificate is replaced, or a failed replacement retried; null: not automatically
 */
export function nextAttemptAt(
  phase: Phase,
  latest: Pick<Issuance, 'dueAt'> | null,
  renewAt: Date | null,
): Date | null {
  const movedBy: Record<Phase, 'issuance' | 'renewal' | null> = {
    idle: 'renewal',
    awaiting_csr: null,
    awaiting_approval: 'issuance',
    issuing: 'issuance',
    backoff: 'issuance',
    rate_limited: 'issuance',
    paused: null,
    failed: 'renewal',
  };
  if (latest === null || movedBy[phase] === null) return null;
  return movedBy[phase] === 'issuance' ? latest.dueAt : renewAt;
}
