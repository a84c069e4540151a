import type { AcmeProblem } from './acme-problem';

/**
 * Why an exchange with an ACME server failed; closed set. `unreachable`: no complete response (the request may have
 * been carried out). `timeout`: the same, because a time limit was exceeded. `not_acme`: a response that violates
 * ACME. `refused_url`: a URL outside the allowed hosts (nothing was sent there). `problem`: a problem document.
 * `rate_limited`: a quota or overload; do not retry before `retryAt`.
 */
export type AcmeFaultKind =
  'unreachable' | 'timeout' | 'not_acme' | 'refused_url' | 'problem' | 'rate_limited';

interface FaultDetails {
  /** The problem document; null for every kind but `problem` and, mostly, `rate_limited`. */
  readonly problem?: AcmeProblem | null;
  /** HTTP status of an error response. */
  readonly status?: number | null;
  /** When to retry, if the server sent a time. */
  readonly retryAt?: Date | null;
  /** Location header of the refusal: the account that already has the key (RFC 8555, section 7.3.5). */
  readonly location?: string | null;
  /** The response was complete, and a retry returns the same. */
  readonly lasting?: boolean;
}

/**
 * The message is a sentence for an operator. Of the data sent by the server it contains only a problem's type and
 * detail, in bounded, printable form, and the host of a refused URL.
 */
export class AcmeFault extends Error {
  readonly problem: AcmeProblem | null;
  readonly status: number | null;
  readonly retryAt: Date | null;
  readonly location: string | null;
  readonly lasting: boolean;
  /** The request was never sent: no connection, or fetching the directory or nonce failed first. */
  neverSent = false;

  constructor(
    readonly kind: AcmeFaultKind,
    message: string,
    { problem = null, status = null, retryAt = null, location = null, lasting = false }: FaultDetails = {},
  ) {
    super(message);
    this.name = 'AcmeFault';
    this.problem = problem;
    this.status = status;
    this.retryAt = retryAt;
    this.location = location;
    this.lasting = lasting;
  }
}

/** Whether the server refused with this problem type. */
export function isProblem(error: unknown, type: AcmeProblem['type']): error is AcmeFault {
  return error instanceof AcmeFault && error.problem?.type === type;
}

export function notAcme(message: string, details: FaultDetails = {}): AcmeFault {
  return new AcmeFault('not_acme', message, details);
}
