import type { Chance } from '../chance';
import { calmMs, type SimulatedTime } from '../faults/fault-windows';
import type { OrderKind } from './order';

const dayMs = 86_400_000;

export type Deed =
  | 'create'
  | 'rekey'
  | 'rename'
  | 'revoke'
  | 'compromise'
  | 'pause'
  | 'resume'
  | 'stop renewal'
  | 'renew again'
  | 'mute'
  | 'unmute'
  | 'record vanishes'
  | 'record returns'
  | 'delete'
  | 'reissue'
  | 'revoke others';

export interface PlannedDeed {
  readonly atMs: number;
  readonly order: number;
  readonly deed: Deed;
}

interface Habit {
  readonly deed: Deed;
  readonly perYear: number;
  /** The following action, after a number of days. */
  readonly then?: { readonly deed: Deed; readonly min: number; readonly max: number };
}

const common: readonly Habit[] = [
  { deed: 'record vanishes', perYear: 0.25, then: { deed: 'record returns', min: 1, max: 45 } },
  { deed: 'mute', perYear: 0.1, then: { deed: 'unmute', min: 5, max: 60 } },
  { deed: 'stop renewal', perYear: 0.1, then: { deed: 'renew again', min: 5, max: 60 } },
];

const habits: Readonly<Record<OrderKind, readonly Habit[]>> = {
  v3: [
    ...common,
    { deed: 'rekey', perYear: 0.5 },
    { deed: 'rename', perYear: 0.3 },
    { deed: 'revoke', perYear: 0.08 },
    { deed: 'compromise', perYear: 0.03 },
    { deed: 'pause', perYear: 0.1, then: { deed: 'resume', min: 2, max: 40 } },
    { deed: 'delete', perYear: 0.08 },
  ],
  'v3-paid': [
    ...common,
    { deed: 'rekey', perYear: 0.5 },
    { deed: 'revoke', perYear: 0.08 },
    { deed: 'pause', perYear: 0.1, then: { deed: 'resume', min: 2, max: 40 } },
    { deed: 'delete', perYear: 0.08 },
  ],
  v2: [...common, { deed: 'reissue', perYear: 0.6 }, { deed: 'revoke others', perYear: 0.1 }],
};

/**
 * All actions of the users of all orders, by time. Depends only on the seed.
 *
 * @param activity 1: the rates of the habits
 */
export function planDeeds(
  chance: Chance,
  { startMs, endMs }: SimulatedTime,
  kinds: readonly OrderKind[],
  activity: number,
): PlannedDeed[] {
  const planned: PlannedDeed[] = [];
  const lastMs = endMs - calmMs;
  const spreadMs = Math.min(60 * dayMs, (endMs - startMs) * 0.3);
  kinds.forEach((kind, order) => {
    const createdMs = startMs + spreadMs * chance.of('created', order);
    planned.push({ atMs: createdMs, order, deed: 'create' });
    for (const habit of habits[kind]) {
      const often = { ...habit, perYear: habit.perYear * activity };
      planned.push(...deedsOf(chance, often, order, createdMs + dayMs, lastMs));
    }
  });
  return planned.sort((one, other) => one.atMs - other.atMs);
}

function deedsOf(chance: Chance, habit: Habit, order: number, fromMs: number, toMs: number): PlannedDeed[] {
  const { deed, perYear, then } = habit;
  const found: PlannedDeed[] = [];
  const gapMs = (365 * dayMs) / perYear;
  let atMs = fromMs;
  for (let n = 0; ; n += 1) {
    atMs += -Math.log(1 - chance.of(deed, order, n)) * gapMs;
    if (atMs > toMs) return found;
    found.push({ atMs, order, deed });
    if (then === undefined) continue;
    atMs += chance.between(then.min, then.max, deed, order, n, 'then') * dayMs;
    if (atMs > toMs) return found;
    found.push({ atMs, order, deed: then.deed });
  }
}
