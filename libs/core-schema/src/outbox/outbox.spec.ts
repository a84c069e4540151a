import { advanceIssuance, type Job } from '@certwright/jobs';
import { CoreDatabaseFixture } from '@certwright/core-testing';

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
