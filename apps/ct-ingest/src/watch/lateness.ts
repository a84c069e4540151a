import type { CtLogEntity } from '@certwright/ct-schema';

/** Number of observations of a log's head that are kept: one per 15 s, for longer than the time until an alarm. */
const maxHeads = 100;

export type WatchedLog = Pick<
  CtLogEntity,
  'position' | 'headSize' | 'headAt' | 'failures' | 'dueAt' | 'lastError'
>;

interface SeenHead {
  readonly size: number;
  readonly atMs: number;
}

/**
 * Delay of ingesting one log, whatever its maximum merge delay: how long entries have been signed that are not ingested, or how long
 * its head could not be fetched. Based on the row's values since this process monitors it.
 */
export class Lateness {
  /** Heads whose entries are not yet all ingested, oldest first. */
  private heads: SeenHead[] = [];
  private respondedAtMs: number;
  private last: WatchedLog | null = null;

  constructor(nowMs: number) {
    this.respondedAtMs = nowMs;
  }

  /** @returns ms */
  look(log: WatchedLog, nowMs: number): number {
    if (hasResponded(this.last, log, nowMs)) this.respondedAtMs = nowMs;
    this.last = log;
    const [position, headSize] = [Number(log.position), Number(log.headSize)];
    this.heads = this.heads.filter(({ size }) => size > position);
    const isNew = headSize > Math.max(position, this.heads.at(-1)?.size ?? 0);
    if (isNew && this.heads.length < maxHeads) this.heads.push({ size: headSize, atMs: nowMs });
    return nowMs - Math.min(this.heads[0]?.atMs ?? nowMs, this.respondedAtMs);
  }
}

/** The log has responded since the last check, or is in its normal rest after a response. */
function hasResponded(before: WatchedLog | null, log: WatchedLog, nowMs: number): boolean {
  if (before !== null && (before.position !== log.position || before.headSize !== log.headSize)) return true;
  if (before !== null && before.headAt?.getTime() !== log.headAt?.getTime()) return true;
  if (log.failures > 0 || log.lastError !== null) return false;
  const hasEnded = before !== null && before.dueAt.getTime() !== log.dueAt.getTime();
  return hasEnded || log.dueAt.getTime() > nowMs;
}
