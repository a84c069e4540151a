/** Delay of a log, including our own. Seconds. */
const graceS = 300;

export interface FollowedTo {
  /** Next entry to read, and the number of entries. */
  readonly position: string;
  readonly headSize: string;
  /** When the newest head was signed. */
  readonly headAt: Date | null;
  /** Timestamp of the newest entry that was read. */
  readonly entryAt: Date | null;
  readonly createdAt: Date;
  readonly intervalEnd: Date | null;
  readonly listState: string;
  /** Maximum merge delay. */
  readonly mmdS: number;
}

/**
 * Age of our data of a log, seconds: with a backlog, of the current entry; else of the head, as a log signs a new one
 * within its maximum merge delay even without new entries. A log that accepts no more submissions has no lag at its end.
 */
export function lagS(log: FollowedTo, nowMs: number): number {
  const hasBacklog = BigInt(log.position) < BigInt(log.headSize);
  if (!hasBacklog && log.headAt !== null && (log.listState === 'readonly' || takesNothing(log, nowMs)))
    return 0;
  const known = (hasBacklog ? log.entryAt : log.headAt) ?? log.createdAt;
  return Math.max(0, (nowMs - known.getTime()) / 1_000);
}

/** Also a log whose newest head is signed with a time that is as far ahead: its age does not show whether newer ones are missing. */
export function isLagging(log: FollowedTo, nowMs: number): boolean {
  const aheadS = log.headAt === null || takesNothing(log, nowMs) ? 0 : (log.headAt.getTime() - nowMs) / 1_000;
  return Math.max(lagS(log, nowMs), aheadS) > log.mmdS + graceS;
}

/** Certificates that expire in its interval have all expired, or the log has retired. */
export function takesNothing(
  { intervalEnd, listState }: Pick<FollowedTo, 'intervalEnd' | 'listState'>,
  nowMs: number,
): boolean {
  return listState === 'retired' || (intervalEnd !== null && intervalEnd.getTime() < nowMs);
}
