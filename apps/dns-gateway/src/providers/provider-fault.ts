/** Why a provider did not do what was asked; each becomes an error code of its own at the edge. */
export type ProviderFaultKind =
  | 'auth_failed'
  /** It understood and refused: another try is refused as well. */
  | 'rejected'
  | 'rate_limited'
  /** No answer, or none as documented: nobody knows whether the change was made. */
  | 'unavailable'
  /** Something else stands at the name that the record cannot stand beside. */
  | 'conflict'
  | 'zone_not_found';

/** The message is a sentence for the customer. It never holds credentials, nor octets of the other side unless they were read and judged. */
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
