import type { FieldFaultCode, ProblemCode } from './problem-codes';

/** One thing wrong with one field. `field` is the field's own name on the wire; which element of it, the message says. */
export interface FieldFault {
  readonly field: string;
  readonly code: FieldFaultCode;
  /** For the person who made the request: what is wrong and what would be right. Never repeats secret input. */
  readonly message: string;
}

/** In one response. */
export const maxFaults = 100;

export interface ProblemDetails {
  readonly field?: string;
  readonly faults?: readonly FieldFault[];
  /** Seconds, rendered as `Retry-After`. */
  readonly retryAfterS?: number;
  /** HTTP methods that the path does answer, rendered as `Allow`. */
  readonly allow?: readonly string[];
}

/**
 * The one error that is thrown on purpose. Its message is written for the caller of the API; any other error that
 * reaches an edge is a fault of ours, and its text stays in the log.
 */
export class Problem extends Error {
  readonly field?: string;
  readonly faults: readonly FieldFault[];
  readonly retryAfterS?: number;
  readonly allow?: readonly string[];

  constructor(
    readonly code: ProblemCode,
    message: string,
    details: ProblemDetails = {},
  ) {
    super(message);
    this.name = 'Problem';
    this.field = details.field;
    this.faults = details.faults ?? [];
    this.retryAfterS = details.retryAfterS;
    this.allow = details.allow;
  }

  /** A request with invalid fields: `bad_request` with one sub-error per fault, the first 100. */
  static ofFields(faults: readonly FieldFault[]): Problem {
    const shown = faults.slice(0, maxFaults);
    const fields = [...new Set(shown.map(({ field }) => field))].join(', ');
    return new Problem('bad_request', `The request is not valid: see ${fields}.`, { faults: shown });
  }
}
