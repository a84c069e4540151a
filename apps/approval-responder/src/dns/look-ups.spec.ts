import { setImmediate as turn } from 'node:timers/promises';
import type { ChallengePlace, Remembered, ValuesAt } from '@certwright/redis';
import { KnownValues } from './known-values';
import { LookUpLimit, TooManyLookUps } from './look-up-limit';

const databaseTimeoutMs = 5_000;

/** A database that responds on command, and a Redis that stores. */
function stores() {
  const lookedUp: string[] = [];
  const waiting: (() => void)[] = [];
  const memory = new Map<ChallengePlace, ValuesAt>();
  const hold = (key: string) =>
    new Promise<ValuesAt>((resolve) => {
      lookedUp.push(key);
      waiting.push(() => resolve(['value']));
    });
  const redis = {
    get: (place: ChallengePlace): Promise<Remembered> => {
      const values = memory.get(place);
      return Promise.resolve(values === undefined ? { known: false, turn: '' } : { known: true, values });
    },
    put: (place: ChallengePlace, values: ValuesAt) => {
      memory.set(place, values);
      return Promise.resolve();
    },
  };
  return {
    lookedUp,
    memory,
    redis,
    stored: { atTarget: hold, ofName: hold },
    release: () => waiting.splice(0).forEach((go) => go()),
  };
}

describe('look-ups', () => {
  it('of the same name at the same time are combined', async () => {
    const { redis, stored, lookedUp, release } = stores();
    const values = new KnownValues({
      remembered: redis,
      stored,
      limit: new LookUpLimit(4),
      databaseTimeoutMs,
    });
    const all = Promise.all(Array.from({ length: 1_000 }, () => values.at('target:a')));
    await turn();
    expect(lookedUp).toEqual(['a']);
    release();
    expect(new Set(await all)).toEqual(new Set([['value']]));
    expect(await values.at('target:a')).toEqual(['value']);
    expect(lookedUp).toHaveLength(1);
  });

  it('see a change that was published while an earlier one was reading', async () => {
    const reads: ((values: ValuesAt) => void)[] = [];
    const read = () => new Promise<ValuesAt>((resolve) => reads.push(resolve));
    const unknown = {
      get: () => Promise.resolve({ known: false, turn: '' } as const),
      put: () => Promise.resolve(),
    };
    const values = new KnownValues({
      remembered: unknown,
      stored: { atTarget: read, ofName: read },
      limit: new LookUpLimit(4),
      databaseTimeoutMs,
    });
    const before = values.at('target:a');
    await turn();
    const after = [values.at('target:a'), values.at('target:a')];
    await turn();
    reads[0]?.([]);
    expect(await before).toEqual([]);
    await turn();
    reads[1]?.(['new']);
    expect(await Promise.all(after)).toEqual([['new'], ['new']]);
    expect(reads).toHaveLength(2);
  });

  it('of a flood of names never run above the limit, and the rest is rejected at once', async () => {
    const { redis, stored, lookedUp, release } = stores();
    const values = new KnownValues({
      remembered: redis,
      stored,
      limit: new LookUpLimit(2),
      databaseTimeoutMs,
    });
    const flood = Array.from({ length: 1_000 }, async (_, n) => await values.at(`target:${n}`));
    const settled = Promise.allSettled(flood);
    await turn();
    expect(lookedUp).toHaveLength(2);
    while (lookedUp.length < 130) {
      release();
      await turn();
      expect(lookedUp.length % 2).toBe(0);
    }
    release();
    const results = await settled;
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(130);
    const [refused] = results.filter((result) => result.status === 'rejected');
    expect(refused?.reason).toBeInstanceOf(TooManyLookUps);
  });

  it('that fail free their slot for others', async () => {
    const limit = new LookUpLimit(1);
    const failing = () => Promise.reject(new Error('unavailable'));
    for (let count = 0; count < 3; count += 1)
      await expect(limit.run(failing)).rejects.toThrow('unavailable');
    expect(await limit.run(() => Promise.resolve(7))).toBe(7);
  });

  it('end even if the database never responds, and the next one starts a new query', async () => {
    const { redis, stored, lookedUp } = stores();
    const limit = new LookUpLimit(1);
    const values = new KnownValues({ remembered: redis, stored, limit, databaseTimeoutMs: 20 });
    for (let count = 1; count <= 2; count += 1) {
      await expect(values.at('name:a.example.com')).rejects.toThrow('did not respond');
      expect(lookedUp).toHaveLength(count);
    }
  });

  it.each([
    ['leave Redis alone for a second after it failed slowly', 300, 1],
    ['try Redis again at once when it failed at once', 0, 3],
  ])('%s', async (_, failsAfterMs, readsAtFirst) => {
    let nowMs = 0;
    let reads = 0;
    const get = () => {
      reads += 1;
      nowMs += failsAfterMs;
      return Promise.reject(new Error('Redis is unavailable'));
    };
    const values = new KnownValues({
      remembered: { get, put: () => Promise.resolve() },
      stored: { atTarget: () => Promise.resolve([]), ofName: () => Promise.resolve(null) },
      limit: new LookUpLimit(2),
      databaseTimeoutMs,
      nowMs: () => nowMs,
    });
    for (const place of ['target:a', 'target:b', 'name:c'] as const) await values.at(place);
    expect(reads).toBe(readsAtFirst);
    nowMs += 1_001;
    expect(await values.at('name:d')).toBeNull();
    expect(reads).toBe(readsAtFirst + 1);
  });
});
