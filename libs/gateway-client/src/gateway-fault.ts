import type { FieldFault, ProblemCode } from '@certwright/errors';

/** `unreachable`: no response, or an unreadable one; it is unknown whether the request was carried out. */
export type GatewayFaultCode = ProblemCode | 'unreachable';

export interface GatewayFaultDetails {
  /** The member of the request at fault. */
  readonly field?: string;
  readonly faults?: readonly FieldFault[];
  readonly retryAfterS?: number;
  /** A new integration handle: to be stored, whatever went wrong. */
  readonly integration?: string;
}

/** Why the gateway did not do what was asked. The message is a sentence for the customer, without anything secret. */
export class GatewayFault extends Error {
  readonly field?: string;
  readonly faults: readonly FieldFault[];
  readonly retryAfterS?: number;
  readonly #integration?: string;

  constructor(
    readonly code: GatewayFaultCode,
    message: string,
    details: GatewayFaultDetails = {},
  ) {
    super(message);
    this.name = 'GatewayFault';
    this.field = details.field;
    this.faults = details.faults ?? [];
    this.retryAfterS = details.retryAfterS;
    this.#integration = details.integration;
  }

  /** A new integration handle: to be stored, whatever went wrong. No log prints it, since it is no member of its own. */
  get integration(): string | undefined {
    return this.#integration;
  }
}
