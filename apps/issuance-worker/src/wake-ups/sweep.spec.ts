import type { Job } from '@certwright/jobs';
import type { LeasedIssuances } from '@certwright/ordering';
import { maxWaitingIssuances } from './backlog';
import { Sweep } from './sweep';

type Due = Awaited<ReturnType<LeasedIssuances['due']>>;

const due = (count: number): Due =>
  Array.from({ length: count }, (_, nth) => ({
    id: String(nth),
    accountId: '1',
    leaseToken: '0',
    overdueS: 0,
    traceparent: null,
  }));

describe('Sweep', () => {
  let found: Due;
  let waiting: number;
  let nowMs: number;
  let added: number[];
  let sweep: Sweep;

  beforeEach(() => {
    [found, waiting, nowMs, added] = [[], 0, 0, []];
    sweep = new Sweep(
      { due: async (limit) => await Promise.resolve(found.slice(0, limit)) },
      {
        waiting: async () => await Promise.resolve(waiting),
        addAll: async (jobs: readonly Job[]) => await Promise.resolve(void added.push(jobs.length)),
      },
      () => nowMs,
    );
  });

  it('runs every second when it finds all that is due', async () => {
    found = due(maxWaitingIssuances - 1);
    expect(await sweep.round()).toBe(1_000);
    nowMs += 1_000;
    expect(await sweep.round()).toBe(1_000);
    expect(added).toEqual([maxWaitingIssuances - 1, maxWaitingIssuances - 1]);
  });

  it('refills the queue when few jobs wait and more is due', async () => {
    found = due(10 * maxWaitingIssuances);
    expect(await sweep.round()).toBe(100);
    waiting = maxWaitingIssuances / 2;
    nowMs += 100;
    expect(await sweep.round()).toBe(100);
    expect(added).toEqual([maxWaitingIssuances]);
    waiting -= 1;
    nowMs += 100;
    expect(await sweep.round()).toBe(100);
    expect(added).toEqual([maxWaitingIssuances, maxWaitingIssuances]);
  });

  it('sweeps every 500 ms while the queue is full and more is due', async () => {
    [found, waiting] = [due(10 * maxWaitingIssuances), maxWaitingIssuances];
    for (nowMs = 0; nowMs < 1_000; nowMs += 100) await sweep.round();
    expect(added).toEqual([maxWaitingIssuances, maxWaitingIssuances]);
  });

  it('returns to the interval of a second when the backlog ends', async () => {
    found = due(maxWaitingIssuances);
    expect(await sweep.round()).toBe(100);
    [found, waiting] = [due(1), 0];
    nowMs += 100;
    expect(await sweep.round()).toBe(1_000);
  });
});
