import type { Chance } from '../chance';
import { calmMs, type SimulatedTime } from '../faults/fault-windows';
import type { OrderKind } from './order';

const dayMs = 86_400_000;

export type UserAction =
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

export interface PlannedAction {
  readonly atMs: number;
  readonly order: number;
  readonly action: UserAction;
}

interface Habit {
  readonly action: UserAction;
  readonly perYear: number;
  /** The following action, after a number of days. */
  readonly then?: { readonly action: UserAction; readonly min: number; readonly max: number };
}

const common: readonly Habit[] = [
  { action: 'record vanishes', perYear: 0.25, then: { action: 'record returns', min: 1, max: 45 } },
  { action: 'mute', perYear: 0.1, then: { action: 'unmute', min: 5, max: 60 } },
  { action: 'stop renewal', perYear: 0.1, then: { action: 'renew again', min: 5, max: 60 } },
];

const habits: Readonly<Record<OrderKind, readonly Habit[]>> = {
  v3: [
    ...common,
    { action: 'rekey', perYear: 0.5 },
    { action: 'rename', perYear: 0.3 },
    { action: 'revoke', perYear: 0.08 },
    { action: 'compromise', perYear: 0.03 },
    { action: 'pause', perYear: 0.1, then: { action: 'resume', min: 2, max: 40 } },
    { action: 'delete', perYear: 0.08 },
  ],
  'v3-paid': [
    ...common,
    { action: 'rekey', perYear: 0.5 },
    { action: 'revoke', perYear: 0.08 },
    { action: 'pause', perYear: 0.1, then: { action: 'resume', min: 2, max: 40 } },
    { action: 'delete', perYear: 0.08 },
  ],
  v2: [...common, { action: 'reissue', perYear: 0.6 }, { action: 'revoke others', perYear: 0.1 }],
};

/**
 * All actions of the users of all orders, by time. Depends only on the seed.
 *
 * @param activity 1: the rates of the habits
 */
export function planActions(
  chance: Chance,
  { startMs, endMs }: SimulatedTime,
  kinds: readonly OrderKind[],
  activity: number,
): PlannedAction[] {
  const planned: PlannedAction[] = [];
  const lastMs = endMs - calmMs;
  const spreadMs = Math.min(60 * dayMs, (endMs - startMs) * 0.3);
  kinds.forEach((kind, order) => {
    const createdMs = startMs + spreadMs * chance.of('created', order);
    planned.push({ atMs: createdMs, order, action: 'create' });
    for (const habit of habits[kind]) {
      const often = { ...habit, perYear: habit.perYear * activity };
      planned.push(...actionsOf(chance, often, order, createdMs + dayMs, lastMs));
    }
  });
  return planned.sort((one, other) => one.atMs - other.atMs);
}

function actionsOf(
  chance: Chance,
  habit: Habit,
  order: number,
  fromMs: number,
  toMs: number,
): PlannedAction[] {
  const { action, perYear, then } = habit;
  const found: PlannedAction[] = [];
  const gapMs = (365 * dayMs) / perYear;
  let atMs = fromMs;
  for (let n = 0; ; n += 1) {
    atMs += -Math.log(1 - chance.of(action, order, n)) * gapMs;
    if (atMs > toMs) return found;
    found.push({ atMs, order, action });
    if (then === undefined) continue;
    atMs += chance.between(then.min, then.max, action, order, n, 'then') * dayMs;
    if (atMs > toMs) return found;
    found.push({ atMs, order, action: then.action });
  }
}
