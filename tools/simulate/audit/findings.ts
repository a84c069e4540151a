import {
  type FaultWindows,
  type Interval,
  lengthMs,
  type SimulatedTime,
  uncovered,
} from '../faults/fault-windows';
import type { SimulatedOrder } from '../users/order';

/** `wrong`: neither late, doubled nor lost, and still against a rule. */
export type Fate = 'late' | 'doubled' | 'lost' | 'wrong';

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
  /** What it is about, by its id in the database or its name. */
  readonly id: string;
  readonly text: string;
}

const hourMs = 3_600_000;

/** After what was in the way is gone, the longest back-off: a day, and the steps in which time is driven. */
const graceMs = 26 * hourMs;

/** The rules by which what is found is judged. Independent of the platform: only times and excuses count. */
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
  /** How late things may be that nothing stands in the way of. */
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

  /** How long something was late that nothing excused, ms; 0: it was in time. */
  latenessMs(due: Interval, excuses: readonly Interval[]): number {
    const late = lengthMs(uncovered(due, excuses.map(withGrace)));
    return late > this.toleranceMs ? late : 0;
  }

  /** What keeps the platform as a whole from its work. */
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
