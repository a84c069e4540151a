import type { TreeHead, TreeState } from '@certwright/ct';

/** The log returned no usable response; to be retried later. */
export class LogUnavailable extends Error {
  /** @param retryAfterMs from Retry-After; null: there was none */
  constructor(
    message: string,
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
    this.name = 'LogUnavailable';
  }
}

/** The response is longer than allowed, as sent or unpacked. */
export class ResponseTooLong extends LogUnavailable {}

/** The log does not have the requested item (404, 410, other 4xx): a retry gets the same response. */
export class LogRefuses extends LogUnavailable {}

/** A head that the log signed, as fetched. */
export interface SignedTreeHead extends TreeHead {
  readonly signed: Buffer;
}

/** Evidence of a violation: signed heads, and what they were compared with. */
export interface Evidence {
  readonly head: SignedTreeHead;
  /** The kept head; null: there was none. */
  readonly kept: SignedTreeHead | null;
  /** Root of the entries that the log returned; null: the heads alone contradict each other. */
  readonly computed: TreeState | null;
  /** A consistency proof as the log returned it; null: there was none. */
  readonly proof: readonly Buffer[] | null;
}

/**
 * Violations: `rollback` a newer head with fewer entries than an earlier one, `fork` two inconsistent heads, `root` entries that do not
 * hash to the root of a head.
 */
export type Misbehaviour = 'rollback' | 'fork' | 'root';

/** The log must not be trusted until an operator has checked it: its signatures prove the violation, or retries did not help. */
export class LogMisbehaves extends Error {
  constructor(
    readonly kind: Misbehaviour,
    message: string,
    readonly evidence: Evidence,
  ) {
    super(message);
    this.name = 'LogMisbehaves';
  }
}

/** The log returned an invalid proof, or wrong entries. Neither is signed: they are requested again before the log is stopped. */
export class LogUnproven extends LogUnavailable {
  constructor(
    readonly kind: Misbehaviour,
    message: string,
    readonly evidence: Evidence,
  ) {
    super(message);
  }
}
