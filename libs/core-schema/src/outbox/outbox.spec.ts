import { advanceIssuance, type Job } from '@certwright/jobs';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { recordSpans } from '@certwright/testing';
import { inSpan } from '@certwright/tracing';

let core: CoreDatabaseFixture;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
});
afterAll(async () => await core.close());
beforeEach(async () => await core.database.query('DELETE FROM outbox'));

const add = async (...ids: readonly string[]) =>
  await core.transactions.run(async (tx) => {
    for (const id of ids) await core.outbox.add(tx, advanceIssuance(id, 0));
  });

describe('the relay', () => {
  it('forwards every wake-up, oldest first, and then deletes it', async () => {
    await add('1', '2', '3');
    const sent: Job[] = [];
    expect(await core.outbox.relay(2, async (jobs) => await Promise.resolve(void sent.push(...jobs)))).toBe(
      2,
    );
    expect(await core.outbox.relay(2, async (jobs) => await Promise.resolve(void sent.push(...jobs)))).toBe(
      1,
    );
    expect(
      await core.outbox.relay(2, async () => await Promise.reject(new Error('nothing is left to send'))),
    ).toBe(0);
    expect(sent).toEqual([advanceIssuance('1', 0), advanceIssuance('2', 0), advanceIssuance('3', 0)]);
  });

  it('keeps rows that could not be sent', async () => {
    await add('1');
    await expect(
      core.outbox.relay(10, async () => await Promise.reject(new Error('Redis is unavailable'))),
    ).rejects.toThrow('Redis is unavailable');
    expect((await core.outbox.backlog()).rows).toBe(1);
  });

  it('shares the rows among many relays', async () => {
    await add(...Array.from({ length: 40 }, (_, index) => String(index)));
    const sent: string[] = [];
    const send = async (jobs: readonly Job[]) =>
      await Promise.resolve(void sent.push(...jobs.map(({ id }) => id)));
    await Promise.all(Array.from({ length: 4 }, async () => await core.outbox.relay(10, send)));
    while ((await core.outbox.relay(10, send)) > 0);
    expect(new Set(sent).size).toBe(40);
    expect(sent).toHaveLength(40);
  });
});

describe('the traceparent of a wake-up', () => {
  const kept = async () =>
    (
      await core.database.query<{ traceparent: string | null }[]>(
        `SELECT traceparent FROM outbox ORDER BY id`,
      )
    ).map(({ traceparent }) => traceparent);
  const relayed = async () => {
    const sent: Job[] = [];
    await core.outbox.relay(10, async (jobs) => await Promise.resolve(void sent.push(...jobs)));
    return sent;
  };

  it('is that of the span whose transaction wrote the row, and of no other on the same connection', async () => {
    const { spans, stop } = recordSpans();
    try {
      for (const id of ['1', '2']) await inSpan(`request ${id}`, {}, async () => await add(id));
    } finally {
      stop();
    }
    await add('3');
    expect(await kept()).toEqual([...spans.map(({ traceparent }) => traceparent), null]);
  });

  it('becomes the parent of a span that covers its time in the outbox, whose child the job is', async () => {
    const { spans, stop } = recordSpans();
    try {
      await inSpan('request', {}, async () => await add('1'));
      await core.database.query(
        `INSERT INTO outbox (job, job_id, payload) VALUES ('send-mail', 'send-mail-1-0', '{}')`,
      );
      const sent = await relayed();
      expect(spans).toMatchObject([
        { name: 'request' },
        {
          name: 'outbox advance-issuance',
          cause: { traceparent: spans[0]?.traceparent, as: 'parent' },
          startedAt: expect.any(Date) as Date,
          hasEnded: true,
        },
      ]);
      expect(sent).toEqual([
        { ...advanceIssuance('1', 0), cause: { traceparent: spans[1]?.traceparent, as: 'parent' } },
        { name: 'send-mail', id: 'send-mail-1-0', payload: {} },
      ]);
    } finally {
      stop();
    }
  });

  it('is not read while the process records no spans: it runs without the newest migration', async () => {
    await core.database.query(`ALTER TABLE outbox RENAME COLUMN traceparent TO other`);
    try {
      await add('1');
      expect(await relayed()).toEqual([advanceIssuance('1', 0)]);
    } finally {
      await core.database.query(`ALTER TABLE outbox RENAME COLUMN other TO traceparent`);
    }
  });
});
