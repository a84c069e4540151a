import type { Chance } from '../chance';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** An interval of time; `to` is exclusive. */
export interface Interval {
  readonly from: number;
  readonly to: number;
}

/** When external services are down. */
export interface FaultWindows {
  readonly authority: readonly Interval[];
  /** Every statement fails. */
  readonly database: readonly Interval[];
  /** No worker runs. */
  readonly workers: readonly Interval[];
  readonly mailServer: readonly Interval[];
  /** By account. */
  readonly endpoints: ReadonlyMap<string, readonly Interval[]>;
}

export interface SimulatedTime {
  readonly startMs: number;
  readonly endMs: number;
}

export const noFaults: FaultWindows = {
  authority: [],
  database: [],
  workers: [],
  mailServer: [],
  endpoints: new Map(),
};

/** Time at the end without faults, to finish delayed work. */
export const calmMs = 8 * dayMs;

export function drawFaultWindows(
  chance: Chance,
  time: SimulatedTime,
  accountIds: readonly string[],
): FaultWindows {
  const draw = (what: string, every: number, min: number, max: number) =>
    windows(chance, time, { what, everyMs: every * dayMs, minMs: min * hourMs, maxMs: max * hourMs });
  return {
    authority: draw('authority', 40, 1, 30),
    database: draw('database', 50, 1, 2),
    workers: draw('workers', 70, 1, 12),
    mailServer: draw('mail server', 50, 2, 40),
    endpoints: new Map(accountIds.map((id) => [id, draw(`endpoint ${id}`, 200, 6, 48)])),
  };
}

interface Kind {
  readonly what: string;
  /** On average. */
  readonly everyMs: number;
  readonly minMs: number;
  readonly maxMs: number;
}

function windows(
  chance: Chance,
  { startMs, endMs }: SimulatedTime,
  { what, everyMs, minMs, maxMs }: Kind,
): Interval[] {
  const found: Interval[] = [];
  let at = startMs;
  for (let n = 0; ; n += 1) {
    const from = at + everyMs * chance.between(0.2, 1.8, what, n);
    const to = from + chance.between(minMs, maxMs, what, n, 'length');
    if (to > endMs - calmMs) return found;
    found.push({ from, to });
    at = to;
  }
}

export function isWithin(intervals: readonly Interval[], at: number): boolean {
  return intervals.some(({ from, to }) => from <= at && at < to);
}

/** The parts of an interval outside others. */
export function uncovered(interval: Interval, others: readonly Interval[]): Interval[] {
  let left = [interval];
  for (const { from, to } of others) {
    left = left
      .flatMap((part) => [
        { from: part.from, to: Math.min(part.to, from) },
        { from: Math.max(part.from, to), to: part.to },
      ])
      .filter((part) => part.from < part.to);
  }
  return left;
}

export function lengthMs(intervals: readonly Interval[]): number {
  return intervals.reduce((sum, { from, to }) => sum + to - from, 0);
}
