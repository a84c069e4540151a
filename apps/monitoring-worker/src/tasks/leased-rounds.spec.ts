import { LeaseLost } from '@certwright/postgres';
import type { RoundOfWork, Rounds } from '@certwright/service';
import { LeasedRounds } from './leased-rounds';
import type { TaskLease, TaskLeases } from './task-leases';

const leaseMs = 10_000;

let nowMs: number;
let calls: string[];
let isTakenOver: boolean;
let round: RoundOfWork;

beforeEach(() => {
  [nowMs, calls, isTakenOver] = [0, [], false];
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const rounds = { add: (_name: string, added: RoundOfWork) => (round = added) };
  const leases: Partial<TaskLeases> = {
    take: async (task) => {
      calls.push('take');
      return await Promise.resolve<TaskLease>({ task, token: '1' });
    },
    extend: async ({ task, token }) => {
      calls.push('extend');
      await (isTakenOver ? Promise.reject(new LeaseLost('monitoring_task', task, token)) : Promise.resolve());
    },
  };
  const leased = new LeasedRounds(rounds as unknown as Rounds, leases as TaskLeases, { LEASE_TIME: leaseMs });
  leased.add(
    'alerts',
    async () => await Promise.resolve(calls.push('work')),
    () => calls.push('lost'),
  );
});
afterEach(() => jest.restoreAllMocks());

it('extends a lease when a tenth of its time is over, and not in each round', async () => {
  for (nowMs of [0, 500, 999, 1_000, 1_500, 2_000]) await round();
  expect(calls).toEqual(['take', 'work', 'work', 'work', 'extend', 'work', 'work', 'extend', 'work']);
});

it('does no work when another process took the lease meanwhile, and takes it again', async () => {
  await round();
  isTakenOver = true;
  nowMs = 2 * leaseMs;
  expect(await round()).toBe(0);
  expect(calls).toEqual(['take', 'work', 'extend', 'lost']);
  await round();
  expect(calls.slice(4)).toEqual(['take', 'work']);
});
