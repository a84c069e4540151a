import type { ApprovalOutcome } from './approval-outcome';
import type { AuthorityOutcome } from './authority-outcome';

/**
 * Why an issuance waits or failed, why a name is not approved, why a record is not in place: a code with parameters, which
 * each API words for its users. Stored as JSON, so every parameter survives JSON. The parameters of a code are only added
 * to: an older release reads what a newer one stores.
 */
export type Outcome =
  | ApprovalOutcome
  | AuthorityOutcome
  | { readonly code: 'key_compromised' }
  | { readonly code: 'paid_term_over'; readonly endsAt: string }
  | { readonly code: 'product_unavailable' }
  | { readonly code: 'approval_timeout'; readonly dnsNames: readonly string[]; readonly days: number }
  /** A sentence that a release stored which knew no outcomes, or a newer one whose code is not known here. */
  | { readonly code: 'text'; readonly text: string };

export type OutcomeCode = Outcome['code'];

export type OutcomeOf<C extends OutcomeCode> = Extract<Outcome, { readonly code: C }>;

/** RFC 3339, UTC, to the second: how parameters hold times. */
export function outcomeTime(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}
