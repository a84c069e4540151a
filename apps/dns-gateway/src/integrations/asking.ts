/** Who asks, and for how long an answer is of use. */
export interface Asking {
  readonly requestId: string;
  /** Identity of the client certificate. */
  readonly client: string;
  readonly signal: AbortSignal;
}
