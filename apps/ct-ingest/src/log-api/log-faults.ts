import type { TreeHead, TreeState } from '@certwright/ct';

/** The log gave no answer that can be used: something to try again later. */
export class LogUnavailable extends Error {
  /** @param retryAfterMs as the log itself says; null: it does not */
  constructor(
    message: string,
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
    this.name = 'LogUnavailable';
  }
}

/** The answer is longer than was asked for, as sent or as it unpacks. */
export class AnswerTooLong extends LogUnavailable {}

/** The log says that it has no such answer (404, 410, other 4xx): the same request gets the same answer. */
export class LogRefuses extends LogUnavailable {}

/** A head that the log has signed, as fetched. */
export interface SignedTreeHead extends TreeHead {
  readonly signed: Buffer;
}

/** What shows a fault to others: signed heads, and what they were compared with. */
export interface Evidence {
  readonly head: SignedTreeHead;
  /** The head that was kept; null: none was. */
  readonly kept: SignedTreeHead | null;
  /** Of the entries that the log served; null: heads alone contradict each other. */
  readonly computed: TreeState | null;
  /** A consistency proof as the log answered it; null: there was none. */
  readonly proof: readonly Buffer[] | null;
}

/**
 * What the log's own signatures show, so that no retry helps: `rollback` a newer head with fewer entries than one before, `fork` two
 * heads of which neither continues the other, `root` entries that do not hash to the root of a head.
 */
export type Misbehaviour = 'rollback' | 'fork' | 'root';

/** The log must not be trusted until an operator has looked. */
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

/** The log answered with a proof that shows nothing. Proofs are not signed: it is requested again before the log is stopped. */
export class LogUnproven extends LogUnavailable {
  constructor(
    readonly kind: Misbehaviour,
    message: string,
    readonly evidence: Evidence,
  ) {
    super(message);
  }
}
