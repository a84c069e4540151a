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

/**
 * What no repetition mends: `signature` a head that the log has not signed, `rollback` a newer head with fewer entries than one
 * before, `fork` a head that does not continue one before, `root` entries that do not hash to the root of a head.
 */
export const misbehaviours = ['signature', 'rollback', 'fork', 'root'] as const;
export type Misbehaviour = (typeof misbehaviours)[number];

/** The log must not be believed any more, until somebody has looked. */
export class LogMisbehaves extends Error {
  constructor(
    readonly kind: Misbehaviour,
    message: string,
  ) {
    super(message);
    this.name = 'LogMisbehaves';
  }
}
