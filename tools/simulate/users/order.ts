import type { Interval } from '../faults/fault-windows';
import type { SimulatedAccount } from './accounts';
import type { MadeRequest } from './certification-request';

export type OrderKind = 'v3' | 'v3-paid' | 'v2';

/** The reason for a new certificate, apart from the expiry of its predecessor. */
export interface Demand {
  readonly atMs: number;
  readonly why: string;
  readonly dnsNames: readonly string[];
  readonly spkiSha256: string;
}

/** One order or certificate object, as known to its user. */
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
  /** Intervals in which the user's actions prevent issuance or renewal. An open one ends at Infinity. */
  readonly excuses: { why: string; from: number; to: number }[];
  /** Certificates that its user revoked: id and time. */
  readonly revoked: { certificateId: string; atMs: number; reason: string }[];
  /** Intervals without notices about its certificates. */
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
