import type { Interval } from '../faults/fault-windows';
import type { SimulatedAccount } from './accounts';
import type { MadeRequest } from './certification-request';

export type OrderKind = 'v3' | 'v3-paid' | 'v2';

/** Why a new certificate was to be made, besides that its predecessor came to its end. */
export interface Demand {
  readonly atMs: number;
  readonly why: string;
  readonly dnsNames: readonly string[];
  readonly spkiSha256: string;
}

/** One order or certificate object as its user knows it. */
export interface SimulatedOrder {
  readonly number: number;
  readonly kind: OrderKind;
  readonly account: SimulatedAccount;
  /** Of the order, or the common name. */
  readonly name: string;
  planId: string;
  dnsNames: readonly string[];
  request: MadeRequest;
  createdMs: number;
  deletedMs: number | null;
  paused: boolean;
  autoRenew: boolean;
  muted: boolean;
  recordMissingSince: number | null;
  readonly demands: Demand[];
  /** Times in which nothing can be issued or renewed, for a reason that its user gave. An open one ends at Infinity. */
  readonly excuses: { why: string; from: number; to: number }[];
  /** Certificates that its user had revoked: id and time. */
  readonly revoked: { certificateId: string; atMs: number; reason: string }[];
  /** Times at which nothing is to be told of its certificates. */
  readonly mutes: { from: number; to: number }[];
}

export function begin(intervals: { why?: string; from: number; to: number }[], from: number, why = ''): void {
  intervals.push({ why, from, to: Infinity });
}

export function end(intervals: { why?: string; from: number; to: number }[], to: number, why = ''): void {
  const open = intervals.find((one) => one.to === Infinity && (one.why ?? '') === why);
  if (open !== undefined) open.to = to;
}

export function isIn(intervals: readonly Interval[], at: number): boolean {
  return intervals.some(({ from, to }) => from <= at && at < to);
}
