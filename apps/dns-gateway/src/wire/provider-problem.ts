import { Problem, type ProblemCode } from '@certwright/errors';
import { ProviderFault, type ProviderFaultKind } from '../providers/provider-fault';

interface Meaning {
  readonly code: ProblemCode;
  /** Seconds to wait when the provider does not say; null: waiting mends nothing. */
  readonly retryAfterS: number | null;
}

/** What each fault of a provider is called at our edge. */
const meaningOf = {
  auth_failed: { code: 'provider_auth_failed', retryAfterS: null },
  rejected: { code: 'provider_rejected', retryAfterS: null },
  rate_limited: { code: 'provider_rate_limited', retryAfterS: 60 },
  unavailable: { code: 'provider_unavailable', retryAfterS: 30 },
  conflict: { code: 'record_conflict', retryAfterS: null },
  zone_not_found: { code: 'zone_not_found', retryAfterS: null },
} as const satisfies Record<ProviderFaultKind, Meaning>;

/** A day: a provider that says more is not believed. */
const longestRetryAfterS = 86_400;

export function problemOfProvider({ kind, message, retryAfterS }: ProviderFault): Problem {
  const meaning: Meaning = meaningOf[kind];
  if (meaning.retryAfterS === null) return new Problem(meaning.code, message);
  const waitS = Math.min(Math.max(1, retryAfterS ?? meaning.retryAfterS), longestRetryAfterS);
  return new Problem(meaning.code, message, { retryAfterS: waitS });
}
