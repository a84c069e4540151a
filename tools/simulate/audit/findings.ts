import {
  type FaultWindows,
  type Interval,
  lengthMs,
  type SimulatedTime,
  uncovered,
} from '../faults/fault-windows';
import type { SimulatedOrder } from '../users/order';

/** `wrong`: any other violation of a rule. */
export type Fate = 'late' | 'duplicated' | 'lost' | 'wrong';

export const subjects = [
  'certificates',
  'notices',
  'revocation lists',
  'money',
  'webhooks',
  'leftovers',
] as const;
export type Subject = (typeof subjects)[number];

export interface Violation {
  readonly fate: Fate;
  readonly subject: Subject;
  /** Name of the object, or its id in the database. */
  readonly id: string;
  readonly text: string;
}

const hourMs = 3_600_000;

/** The longest back-off after an obstacle is gone (a day), plus steps of the clock. */
const graceMs = 26 * hourMs;

/** Decides what is late, from times and excuses only, independently of the platform's code. */
export class Findings {
  readonly violations: Violation[] = [];
  readonly checked: Record<Subject, number> = {
    certificates: 0,
    notices: 0,
    'revocation lists': 0,
    money: 0,
    webhooks: 0,
    leftovers: 0,
  };
  /** Tolerated delay without an obstacle. */
  readonly toleranceMs: number;

  constructor(
    readonly time: SimulatedTime,
    private readonly windows: FaultWindows,
    stepMs: number,
  ) {
    this.toleranceMs = 3 * hourMs + 3 * stepMs;
  }

  report(fate: Fate, subject: Subject, id: string, text: string): void {
    this.violations.push({ fate, subject, id, text });
  }

  /** Unexcused delay; 0 when in time. */
  latenessMs(due: Interval, excuses: readonly Interval[]): number {
    const late = lengthMs(uncovered(due, excuses.map(withGrace)));
    return late > this.toleranceMs ? late : 0;
  }

  /** Outages that stop the whole platform. */
  outages(): readonly Interval[] {
    return [...this.windows.database, ...this.windows.workers];
  }

  mailOutages(): readonly Interval[] {
    return [...this.outages(), ...this.windows.mailServer];
  }

  endpointOutages(accountId: string): readonly Interval[] {
    return [...this.outages(), ...(this.windows.endpoints.get(accountId) ?? [])];
  }

  authorityOutages(): readonly Interval[] {
    return [...this.outages(), ...this.windows.authority];
  }

  excusesOf({ kind, excuses, account }: SimulatedOrder): readonly Interval[] {
    return [...this.authorityOutages(), ...excuses, ...(kind === 'v3' ? [] : account.unpaid)];
  }
}

const withGrace = ({ from, to }: Interval): Interval => ({ from, to: to + graceMs });

export const hours = (ms: number) => `${(ms / hourMs).toFixed(1)} h`;
export const instant = (ms: number) => new Date(ms).toISOString().slice(0, 16);
