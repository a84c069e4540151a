import { setImmediate } from 'node:timers/promises';
import type { Occupant } from '@certwright/redis';
import { ConnectionPlaces, occupancyOptions } from './connection-places';

const never = new AbortController().signal;
/** Among all processes; nothing is occupied elsewhere unless a spec says so. */
class Shared {
  readonly occupied = new Map<string, string>();
  readonly attempts: string[] = [];

  occupy({ token, address }: Occupant): Promise<boolean> {
    this.attempts.push(address);
    if (this.occupied.has(address)) return Promise.resolve(this.occupied.get(address) === token);
    this.occupied.set(address, token);
    return Promise.resolve(true);
  }

  vacate({ token, address }: Occupant): Promise<void> {
    if (this.occupied.get(address) === token) this.occupied.delete(address);
    return Promise.resolve();
  }
}
const unavailable = {
  occupy: () => Promise.reject(new Error('no Redis')),
  vacate: () => Promise.reject(new Error('no Redis')),
};
/** Takes places and notes in which order they were had. */
function taker(places: ConnectionPlaces) {
  const had: string[] = [];
  const free = new Map<string, () => void>();
  const take = (name: string, address: string, signal = never) =>
    places.take(address, signal).then((each) => {
      had.push(name);
      free.set(name, each);
    });
  return { had, take, free: (name: string) => free.get(name)?.() };
}
/** Everything that waits for nothing but the event loop has happened. */
const settled = async (): Promise<void> => {
  for (let turns = 0; turns < 20; turns += 1) await setImmediate();
};

describe.each([
  ['with Redis', () => new Shared()],
  ['without Redis', () => unavailable],
])('places for connections (%s)', (_what, shared) => {
  it('are one per address, in the order in which they were wanted', async () => {
    const { had, take, free } = taker(new ConnectionPlaces(shared()));
    const all = ['a', 'b', 'c'].map((name) => take(name, '192.0.2.1'));
    await take('other', '192.0.2.2');
    await settled();
    expect(had.sort()).toEqual(['a', 'other']);
    free('a');
    await all[1];
    await settled();
    expect(had).toEqual(['a', 'other', 'b']);
    free('b');
    await all[2];
  });

  it('are few per network, whatever other networks have', async () => {
    const { maxPerNetwork } = occupancyOptions;
    const { had, take, free } = taker(new ConnectionPlaces(shared()));
    for (let nth = 0; nth < maxPerNetwork; nth += 1) await take(`a${nth}`, `192.0.2.${nth}`);
    const next = take('next', '192.0.2.200');
    await take('b', '198.51.100.1');
    await settled();
    expect(had).not.toContain('next');
    free('a3');
    await next;
  });

  it('are no longer waited for when the signal aborts, and pass to those behind', async () => {
    const { take, free } = taker(new ConnectionPlaces(shared()));
    await take('a', '192.0.2.1');
    const reason = new Error('enough');
    const giveUp = new AbortController();
    const second = take('b', '192.0.2.1', giveUp.signal);
    const third = take('c', '192.0.2.1');
    giveUp.abort(reason);
    await expect(second).rejects.toBe(reason);
    await expect(take('d', '192.0.2.9', giveUp.signal)).rejects.toBe(reason);
    free('a');
    await third;
  });
});

describe('an address that another process occupies', () => {
  it('is waited for', async () => {
    const shared = new Shared();
    const { had, take } = taker(new ConnectionPlaces(shared));
    shared.occupied.set('192.0.2.1', 'another process');
    const waiting = take('a', '192.0.2.1');
    await take('b', '192.0.2.2');
    await settled();
    expect(had).toEqual(['b']);
    shared.occupied.delete('192.0.2.1');
    await waiting;
    expect(shared.attempts.filter((each) => each === '192.0.2.1').length).toBeGreaterThan(1);
  });

  it('is given up with the signal, and does not stay occupied here', async () => {
    const shared = new Shared();
    const { take } = taker(new ConnectionPlaces(shared));
    shared.occupied.set('192.0.2.1', 'another process');
    const giveUp = new AbortController();
    const waiting = take('a', '192.0.2.1', giveUp.signal);
    await settled();
    giveUp.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    shared.occupied.delete('192.0.2.1');
    await take('b', '192.0.2.1');
  });
});
