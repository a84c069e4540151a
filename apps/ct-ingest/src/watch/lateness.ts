import type { CtLogEntity } from '@certwright/ct-schema';

/** Looks at a log's head that are remembered: one each 15 s, for longer than it takes until there is an alarm. */
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
 * How late we are with one log, whatever its maximum merge delay: how long entries have been signed that are not ingested, or how long
 * its head could not be fetched. By what was seen of its row since this process watches it.
 */
export class Lateness {
  /** Heads that are not reached, oldest first. */
  private heads: SeenHead[] = [];
  private answeredAtMs: number;
  private last: WatchedLog | null = null;

  constructor(nowMs: number) {
    this.answeredAtMs = nowMs;
  }

  /** @returns ms */
  look(log: WatchedLog, nowMs: number): number {
    if (hasAnswered(this.last, log, nowMs)) this.answeredAtMs = nowMs;
    this.last = log;
    const [position, headSize] = [Number(log.position), Number(log.headSize)];
    this.heads = this.heads.filter(({ size }) => size > position);
    const isNew = headSize > Math.max(position, this.heads.at(-1)?.size ?? 0);
    if (isNew && this.heads.length < maxHeads) this.heads.push({ size: headSize, atMs: nowMs });
    return nowMs - Math.min(this.heads[0]?.atMs ?? nowMs, this.answeredAtMs);
  }
}

/** The log has answered since the last look, or rests as it should after an answer. */
function hasAnswered(before: WatchedLog | null, log: WatchedLog, nowMs: number): boolean {
  if (before !== null && (before.position !== log.position || before.headSize !== log.headSize)) return true;
  if (before !== null && before.headAt?.getTime() !== log.headAt?.getTime()) return true;
  if (log.failures > 0 || log.lastError !== null) return false;
  const hasEnded = before !== null && before.dueAt.getTime() !== log.dueAt.getTime();
  return hasEnded || log.dueAt.getTime() > nowMs;
}
