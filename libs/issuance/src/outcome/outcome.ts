import type { ApprovalOutcome } from './approval-outcome';
import type { AuthorityOutcome } from './authority-outcome';

/**
 * Why an issuance waits or failed, why a name is not approved, why a record is not in place: a code with parameters.
 * Each API has its own messages for it. Stored as JSON, so every parameter survives JSON. Parameters are only ever
 * added to a code: an older release reads what a newer one stores.
 */
export type Outcome =
  | ApprovalOutcome
  | AuthorityOutcome
  | { readonly code: 'key_compromised' }
  | { readonly code: 'paid_term_over'; readonly endsAt: string }
  | { readonly code: 'product_unavailable' }
  | { readonly code: 'approval_timeout'; readonly dnsNames: readonly string[]; readonly days: number }
  /** A sentence stored by a release without outcomes, or by a newer one whose code is unknown here. */
  | { readonly code: 'text'; readonly text: string };

export type OutcomeCode = Outcome['code'];

export type OutcomeOf<C extends OutcomeCode> = Extract<Outcome, { readonly code: C }>;

/** RFC 3339, UTC, to the second: the format of times in parameters. */
export function outcomeTime(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}
