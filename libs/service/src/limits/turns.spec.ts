import { setTimeout as pause } from 'node:timers/promises';
import { Turns } from './turns';

/** Work that ends when `end` is called; the first letter of its name is its account. */
function setUp(limits = { atOnce: 3, atOnceOfAccount: 2 }) {
  const turns = new Turns(limits);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const request = async (name: string, maxWaitMs = 60_000) => {
    const end = await turns.begin(name.charAt(0), maxWaitMs);
    if (end === null) return null;
    begun.push(name);
    ends.set(name, end);
    return name;
  };
  const end = async (name: string) => {
    ends.get(name)?.();
    await pause(0);
  };
  return { begun, request, end };
}

it('lets three run at a time, two of one account, in the order of requests', async () => {
  const { begun, request, end } = setUp();
  const results = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2'].map(async (name) => await request(name));
  await pause(0);
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  await end('b1');
  expect(begun).toEqual(['a1', 'a2', 'b1', 'b2']);
  await end('a2');
  expect(begun.at(-1)).toBe('a3');
  await end('a1');
  expect(await Promise.all(results)).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'b2']);
});

it('gives up after the time limit, and the next one takes the turn', async () => {
  const { begun, request, end } = setUp({ atOnce: Infinity, atOnceOfAccount: 1 });
  await request('a1');
  const [late, next, other] = [request('a2', 10), request('a3'), request('b1')];
  expect([await late, await other]).toEqual([null, 'b1']);
  await end('a1');
  expect(await next).toBe('a3');
  expect(begun).toEqual(['a1', 'b1', 'a3']);
});

it('counts the end of a turn once', async () => {
  const { begun, request, end } = setUp({ atOnce: 1, atOnceOfAccount: 1 });
  const results = ['a1', 'a2', 'a3'].map(async (name) => await request(name));
  await pause(0);
  await end('a1');
  await end('a1');
  expect(begun).toEqual(['a1', 'a2']);
  await end('a2');
  await Promise.all(results);
});
