/** Why a provider did not apply a request; each kind has its own error code in responses. */
export type ProviderFaultKind =
  | 'auth_failed'
  /** The provider understood and refused the request: a retry is refused as well. */
  | 'rejected'
  | 'rate_limited'
  /** No response, or not as documented: it is unknown whether the change was applied. */
  | 'unavailable'
  /** The name has another record that the record cannot coexist with. */
  | 'conflict'
  | 'zone_not_found';

/**
 * The message is a sentence for the customer. It never contains credentials, and contains bytes of the provider only
 * after they were parsed and checked.
 */
export class ProviderFault extends Error {
  constructor(
    readonly kind: ProviderFaultKind,
    message: string,
    /** Seconds. */
    readonly retryAfterS?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'ProviderFault';
  }
}

/** The error of a request that followed an applied change: it must not say that nothing was changed. */
export function afterChange(error: unknown): unknown {
  if (!(error instanceof ProviderFault)) return error;
  return new ProviderFault('unavailable', error.message, error.retryAfterS, { cause: error });
}

/** The same where an earlier attempt may have made the change: that the next one came too soon says nothing of it. */
export function afterAttempt(error: unknown): unknown {
  return error instanceof ProviderFault && error.kind === 'rate_limited' ? afterChange(error) : error;
}
