import type { AcmeProblem } from './acme-problem';

/**
 * Why an exchange with an ACME server has no result, closed: `unreachable` no complete answer (it may have been carried
 * out nonetheless), `timeout` the same when a bound of time was hit, `not_acme` an answer that no ACME server gives,
 * `refused_url` the other side leads to where it may not (nothing was sent there), `problem` its problem document,
 * `rate_limited` a quota or overload: not before `retryAt`.
 */
export type AcmeFaultKind =
  'unreachable' | 'timeout' | 'not_acme' | 'refused_url' | 'problem' | 'rate_limited';

interface FaultDetails {
  /** What the server said; null for every kind but `problem` and, mostly, `rate_limited`. */
  readonly problem?: AcmeProblem | null;
  /** HTTP status of an answer that was no success. */
  readonly status?: number | null;
  /** When it may be asked again, where the server said so. */
  readonly retryAt?: Date | null;
  /** A URL that came with the refusal: the account that a key belongs to already (RFC 8555, section 7.3.5). */
  readonly location?: string | null;
  /** The answer arrived whole, and asking again brings the same. */
  readonly lasting?: boolean;
}

/**
 * The message is a sentence for an operator. It holds nothing that the other side sent but, for a problem, its type and its
 * detail in bounded, printable form, and for a refused URL the host.
 */
export class AcmeFault extends Error {
  readonly problem: AcmeProblem | null;
  readonly status: number | null;
  readonly retryAt: Date | null;
  readonly location: string | null;
  readonly lasting: boolean;
  /** The request was never sent: there was no connection, or what it needs first (directory, nonce) failed. */
  neverSent = false;

  constructor(
    readonly kind: AcmeFaultKind,
    message: string,
    { problem = null, status = null, retryAt = null, location = null, lasting = false }: FaultDetails = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'AcmeFault';
    this.problem = problem;
    this.status = status;
    this.retryAt = retryAt;
    this.location = location;
    this.lasting = lasting;
  }
}

/** Whether the server refused with that type of problem. */
export function isProblem(error: unknown, type: AcmeProblem['type']): error is AcmeFault {
  return error instanceof AcmeFault && error.problem?.type === type;
}

export function notAcme(message: string, details: FaultDetails = {}): AcmeFault {
  return new AcmeFault('not_acme', message, details);
}
