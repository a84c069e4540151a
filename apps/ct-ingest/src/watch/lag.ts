import { takesNothing } from '../following/rest';

/** A log's own delay, and the time that we take. Seconds. */
const graceS = 300;

export interface WatchedLog {
  readonly position: string;
  readonly headSize: string;
  readonly headAt: Date | null;
  readonly entryAt: Date | null;
  readonly createdAt: Date;
  readonly intervalEnd: Date | null;
  readonly listState: string;
  readonly mmdS: number;
}

/**
 * How old what we know of a log is, seconds: with a backlog, the entry that we stand at; else the head, as a log signs a new one within
 * its maximum merge delay whether it has new entries or not. A log that takes nothing any more is never behind at its end.
 */
export function lagS(log: WatchedLog, nowMs: number): number {
  const hasBacklog = Number(log.position) < Number(log.headSize);
  if (!hasBacklog && log.headAt !== null && (log.listState === 'readonly' || takesNothing(log, nowMs)))
    return 0;
  const known = (hasBacklog ? log.entryAt : log.headAt) ?? log.createdAt;
  return Math.max(0, (nowMs - known.getTime()) / 1_000);
}

export function isLagging(log: WatchedLog, nowMs: number): boolean {
  return lagS(log, nowMs) > log.mmdS + graceS;
}
