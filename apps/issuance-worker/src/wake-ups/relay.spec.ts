import type { JobQueues } from '@certwright/bullmq';
import type { Outbox } from '@certwright/core-schema';
import {
  advanceIssuance,
  deliverWebhook,
  type Job,
  keepIntegration,
  type QueueName,
  revokeCertificate,
  sendMail,
} from '@certwright/jobs';
import type { OutboxNewsListener } from '@certwright/redis';
import { repeat, type Repeating, type Rounds } from '@certwright/service';
import { eventually } from '@certwright/testing';
import {
  maxWaitingIntegrations,
  maxWaitingIssuances,
  maxWaitingMails,
  maxWaitingRevocations,
} from './backlog';
import { Relay, relayOnce } from './relay';

/** An outbox whose rows are only counted. */
class CountedOutbox {
  rows = 0;
  looks = 0;
  readonly takenAtMs: number[] = [];

  async relay(): Promise<number> {
    this.looks += 1;
    const taken = this.rows;
    this.rows = 0;
    if (taken > 0) this.takenAtMs.push(performance.now());
    return await Promise.resolve(taken);
  }
}

let outbox: CountedOutbox;
let news: () => void;
let repeating: Repeating;

beforeEach(() => {
  outbox = new CountedOutbox();
  const stopping = new AbortController();
  const relay = new Relay(
    outbox as unknown as Outbox,
    {} as JobQueues,
    { stopping: stopping.signal } as Rounds,
    { onNews: (listener: () => void) => (news = listener) } as unknown as OutboxNewsListener,
  );
  relay.onApplicationBootstrap();
  const running = repeat(async () => await relay.round(), { afterErrorMs: 100, onError: () => undefined });
  repeating = {
    stop: async () => {
      stopping.abort();
      await running.stop();
    },
  };
});
afterEach(async () => await repeating.stop());

const pass = async (ms: number) => await new Promise((resolve) => setTimeout(resolve, ms));

describe('the relay', () => {
  it('looks once a second at rest, and finds rows whose news was lost', async () => {
    const begunMs = performance.now();
    // On a busy machine more time may pass.
    const dueLooks = () => 1 + Math.floor((performance.now() - begunMs) / 990);
    await pass(500);
    expect(outbox.looks).toBeGreaterThan(0);
    expect(outbox.looks).toBeLessThanOrEqual(dueLooks());
    outbox.rows = 1;
    await eventually(() => expect(outbox.rows).toBe(0), { withinMs: 10_000 });
    expect(outbox.looks).toBeLessThanOrEqual(dueLooks());
  });

  it('takes rows when there is news, and those of the next moments together', async () => {
    await eventually(() => expect(outbox.looks).toBe(1));
    for (let n = 0; n < 20; n += 1) {
      outbox.rows += 1;
      news();
      await pass(5);
    }
    await eventually(() => expect(outbox.rows).toBe(0));
    const pauses = outbox.takenAtMs.slice(1).map((at, index) => at - (outbox.takenAtMs[index] ?? 0));
    expect(pauses.length).toBeGreaterThan(0);
    expect(Math.min(...pauses)).toBeGreaterThan(45);
  });

  it('takes at once what was written while it looked', async () => {
    await eventually(() => expect(outbox.looks).toBe(1));
    const { relay } = outbox;
    outbox.relay = async () => {
      const taken = await relay.call(outbox);
      outbox.relay = relay;
      // After the statement, before its result is here.
      outbox.rows = 1;
      news();
      return taken;
    };
    news();
    const startedMs = performance.now();
    await eventually(() => expect(outbox.takenAtMs).toHaveLength(1));
    expect((outbox.takenAtMs[0] ?? 0) - startedMs).toBeLessThan(900);
  });
});

describe('wake-ups of issuances, mails, revocations and integrations', () => {
  /** @returns the jobs that are put on Redis, where so many wait already */
  const relayed = async (jobs: readonly Job[], waiting: Partial<Record<QueueName, number>> = {}) => {
    const added: Job[] = [];
    const rows = {
      relay: async (_max: number, send: (all: readonly Job[]) => Promise<void>) => await send(jobs),
    };
    await relayOnce(rows as unknown as Outbox, {
      waiting: async (queue) => await Promise.resolve(waiting[queue] ?? 0),
      addAll: async (all) => await Promise.resolve(void added.push(...all)),
    });
    return added;
  };
  const many = <T>(job: (id: string) => T) => Array.from({ length: 300 }, (_, at) => job(String(at + 1)));

  it('are not all put on Redis, where one account would delay others', async () => {
    const jobs = [
      ...many((id) => advanceIssuance(id, 0)),
      ...many((id) => sendMail(id, 0)),
      ...many((id) => keepIntegration(id, 0)),
      ...many((id) => revokeCertificate(id, 0)),
    ];
    const countOf = (added: readonly Job[], name: string) => added.filter((job) => job.name === name).length;
    const first = await relayed(jobs);
    expect(countOf(first, 'advance-issuance')).toBe(maxWaitingIssuances);
    expect(countOf(first, 'send-mail')).toBe(maxWaitingMails);
    expect(countOf(first, 'keep-integration')).toBe(maxWaitingIntegrations);
    expect(countOf(first, 'revoke-certificate')).toBe(maxWaitingRevocations);
    expect(new Set(first.map(({ priority }) => priority))).toEqual(new Set([1]));
    expect(countOf(await relayed(jobs, { mail: maxWaitingMails }), 'send-mail')).toBe(0);
  });

  it('do not limit others', async () => {
    const deliveries = many((id) => deliverWebhook(id, 0));
    expect(await relayed([...many((id) => sendMail(id, 0)), ...deliveries])).toEqual(
      expect.arrayContaining(deliveries),
    );
  });
});
