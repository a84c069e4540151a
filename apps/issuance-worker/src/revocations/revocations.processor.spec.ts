import type { JobQueues } from '@certwright/bullmq';
import type { Job } from '@certwright/jobs';
import { Metrics, type RunningProcess } from '@certwright/service';
import type { AuthoritiesInOrder } from '../certificate-authorities/authorities-in-order';
import type { DueRevocation, PendingRevocations } from './pending-revocations';
import { RevocationsProcessor } from './revocations.processor';

/** More than one sweep takes. */
const due = Array.from({ length: 700 }, (_, nth) => ({ id: String(nth + 1), reason: 4, turn: nth + 1 }));

let waiting: number;
let added: Job[];
let pages: (string | null)[];
let processor: RevocationsProcessor;

beforeEach(() => {
  [waiting, added, pages] = [0, [], []];
  const pending = {
    page: async (after: DueRevocation | null, limit: number) => {
      pages.push(after?.id ?? null);
      return await Promise.resolve(due.filter(({ turn }) => turn > (after?.turn ?? 0)).slice(0, limit));
    },
    forgetExpired: async () => await Promise.resolve(),
    mailLapsed: async () => await Promise.resolve(),
  };
  const queues = {
    addAll: async (jobs: readonly Job[]) => await Promise.resolve(void added.push(...jobs)),
    waiting: async () => await Promise.resolve(waiting),
  };
  processor = new RevocationsProcessor(
    pending as unknown as PendingRevocations,
    {} as AuthoritiesInOrder,
    queues as unknown as JobQueues,
    { metrics: new Metrics('spec') } as unknown as RunningProcess,
  );
});

it('enqueues all that is due while the queue is short, those of an account after the first of every other one', async () => {
  expect(await processor.sweep()).toBe(0);
  expect(await processor.sweep()).toBeGreaterThan(0);
  expect(pages).toEqual([null, '500']);
  expect(added.map(({ priority }) => priority)).toEqual(due.map(({ turn }) => turn));
});

it('begins again while the queue is filled: accounts with new revocations come first', async () => {
  waiting = 500;
  expect(await processor.sweep()).toBeGreaterThan(0);
  expect(await processor.sweep()).toBeGreaterThan(0);
  expect(pages).toEqual([null, null]);
});
