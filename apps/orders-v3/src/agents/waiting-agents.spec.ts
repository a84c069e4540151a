import type { Agent } from './agent-directory';
import { LastSeen } from './last-seen';
import { WaitingAgents, type WaitingEnd } from './waiting-agents';

const agent = (id: string, accountId = '1', cluster = 'web') =>
  ({ id, accountId, cluster }) as unknown as Agent;
const connected = () => undefined;
const wait = (waiting: WaitingAgents, who: Agent, forMs = 60_000) => waiting.wait(who, 1, forMs, connected);
const web = { accountId: '1', name: 'web' };

beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] }));
afterEach(() => void jest.useRealTimers());

describe('waiting agents', () => {
  it('wait until their time is over, their client disconnects, or the process stops', async () => {
    const waiting = new WaitingAgents({ maxWaiting: 10 });
    const ends = [wait(waiting, agent('a'), 1_000)];
    let disconnect: () => void = connected;
    ends.push(waiting.wait(agent('b'), 1, 60_000, (disconnected) => (disconnect = disconnected)));
    ends.push(wait(waiting, agent('c')));
    expect(waiting.count).toBe(3);
    await jest.advanceTimersByTimeAsync(1_100);
    disconnect();
    waiting.close();
    ends.push(wait(waiting, agent('d')));
    expect((await Promise.all(ends)).map((end) => (end as WaitingEnd).kind)).toEqual([
      'timeout',
      'disconnected',
      'ended',
      'ended',
    ]);
    expect([waiting.count, waiting.clusters, jest.getTimerCount()]).toEqual([0, [], 0]);
  });

  it('are refused over the limit of the process', () => {
    const waiting = new WaitingAgents({ maxWaiting: 2 });
    void wait(waiting, agent('a'));
    void wait(waiting, agent('b'));
    expect(wait(waiting, agent('c'))).toBeNull();
    expect(waiting.count).toBe(2);
  });

  it('of one account do not take the last places of the others', () => {
    const waiting = new WaitingAgents({ maxWaiting: 100 });
    void wait(waiting, agent('other', '2'));
    for (let each = 0; each < 89; each += 1) void wait(waiting, agent(`a${each}`));
    expect(wait(waiting, agent('one more'))).toBeNull();
    expect(wait(waiting, agent('another', '2'))).not.toBeNull();
  });

  it('of the only account leave places to the first agents of another one', () => {
    const waiting = new WaitingAgents({ maxWaiting: 100 });
    for (let each = 0; each < 99; each += 1) void wait(waiting, agent(`a${each}`));
    expect(wait(waiting, agent('one more'))).toBeNull();
    expect(wait(waiting, agent('other', '2'))).not.toBeNull();
  });

  it('that poll again end their earlier request', async () => {
    const waiting = new WaitingAgents({ maxWaiting: 2 });
    const first = wait(waiting, agent('a'));
    void wait(waiting, agent('a'));
    expect(await first).toEqual({ kind: 'ended' });
    expect(waiting.of(web)).toHaveLength(1);
  });

  it('are found by their own cluster alone', () => {
    const waiting = new WaitingAgents({ maxWaiting: 10 });
    void wait(waiting, agent('a'));
    void wait(waiting, agent('b', '2'));
    void wait(waiting, agent('c', '1', 'mail'));
    expect(waiting.of(web).map((each) => each.agent.id)).toEqual(['a']);
    expect(waiting.clusters).toHaveLength(3);
  });
});

describe('when agents were last seen', () => {
  const written: string[][] = [];
  const lastSeen = () => {
    written.length = 0;
    const query = async (_: string, [ids]: [string[]]) => {
      written.push(ids);
      return await Promise.resolve([]);
    };
    return new LastSeen({ query } as unknown as ConstructorParameters<typeof LastSeen>[0]);
  };
  const minute = 60_000;

  it('is written at most 36 rows at a time, and those that were never seen come first', async () => {
    const seen = lastSeen();
    for (let each = 0; each < 60; each += 1)
      seen.note({ id: `known ${each}`, lastSeenAt: new Date(100 * minute) }, 0, 110 * minute);
    for (let each = 0; each < 10; each += 1)
      seen.note({ id: `new ${each}`, lastSeenAt: null }, 0, 110 * minute);
    expect([
      await seen.flush(110 * minute),
      await seen.flush(110 * minute),
      await seen.flush(110 * minute),
    ]).toEqual([36, 34, 0]);
    expect(written[0]?.filter((id) => id.startsWith('new'))).toHaveLength(10);
  });

  it('is written again after five minutes, by 10,000 agents less than 40 times a second', async () => {
    const seen = lastSeen();
    const agents = 10_000;
    let rows = 0;
    let nowMs = 1_000 * minute;
    const stored = new Map<number, number>();
    for (let second = 0; second < 900; second += 1, nowMs += 1_000) {
      for (let each = second % 50; each < agents; each += 50) {
        stored.set(each, stored.get(each) ?? nowMs - (each % 300) * 1_000);
        seen.note({ id: `${each}`, lastSeenAt: new Date(stored.get(each) ?? 0) }, 0, nowMs);
      }
      rows += await seen.flush(nowMs);
    }
    expect(rows / 900).toBeLessThan(40);
    expect(rows / 900).toBeGreaterThan(25);
  });
});
