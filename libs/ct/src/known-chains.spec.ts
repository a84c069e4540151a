import { KnownChains } from './known-chains';

const chain = { of: 'certificates', bytes: Buffer.from('chain') } as const;
const whole = (text: Buffer) => ({ start: 0, end: text.length });
/** Equal at all sampled offsets; the rest identifies the text. */
const alike = (nth: number) => Buffer.from('A'.repeat(8) + String(nth).padStart(8, '0') + 'A'.repeat(112));
/** Different at the sampled offsets. */
const unlike = (nth: number, length: number) => Buffer.alloc(length, `${nth}`.padStart(8, '0'));

it('a text that only resembles a known one is not known', () => {
  const chains = new KnownChains();
  chains.keep(alike(1), whole(alike(1)), 0, chain);
  expect(chains.find(alike(1), whole(alike(1)), 0)).toEqual(chain);
  expect(chains.find(alike(2), whole(alike(2)), 0)).toBeNull();
  expect(chains.find(alike(1), whole(alike(1)), 256)).toBeNull();
  chains.keep(alike(2), whole(alike(2)), 0, chain);
  expect(chains.find(alike(1), whole(alike(1)), 0)).toBeNull();
  expect(chains.find(alike(2), whole(alike(2)), 0)).toEqual(chain);
});

it('a cached chain does not change with the response that contained it', () => {
  const chains = new KnownChains();
  const response = Buffer.from('"AAAABBBBCCCC"AAAABBBBCCCC"');
  const bytes = Buffer.from('bytes');
  const kept = chains.keep(response, { start: 1, end: 13 }, 0, { of: 'certificates', bytes });
  response.fill('x', 1, 13);
  bytes.fill('x');
  expect(kept.bytes.toString()).toBe('bytes');
  expect(kept.bytes.buffer.byteLength).toBe(kept.bytes.length);
  expect(chains.find(response, { start: 14, end: 26 }, 0)).toBe(kept);
  expect(chains.find(response, { start: 1, end: 13 }, 0)).toBeNull();
});

it('evicts the oldest chains at the limit, and does not cache huge ones', () => {
  const chains = new KnownChains();
  const knows = (text: Buffer) => chains.find(text, whole(text), 0) !== null;
  const length = 32_768;
  const many = 300;
  for (let nth = 0; nth < many; nth++) chains.keep(unlike(nth, length), whole(unlike(nth, length)), 0, chain);
  expect(knows(unlike(0, length))).toBe(false);
  expect(knows(unlike(many - 1, length))).toBe(true);
  const known = Array.from({ length: many }, (_, nth) => knows(unlike(nth, length))).filter(Boolean).length;
  expect(known * length).toBeGreaterThan(7 * 1_048_576);
  expect(known * length).toBeLessThanOrEqual(8 * 1_048_576);
  const huge = unlike(1, length + 4);
  chains.keep(huge, whole(huge), 0, chain);
  expect(knows(huge)).toBe(false);
});

it('counts the size of a chain once when it is cached repeatedly', () => {
  const chains = new KnownChains();
  const text = unlike(7, 32_768);
  for (const each of [1, 2]) chains.keep(unlike(each, 400), whole(unlike(each, 400)), 0, chain);
  for (let nth = 0; nth < 600; nth++) chains.keep(text, whole(text), 0, chain);
  expect(chains.find(unlike(1, 400), whole(unlike(1, 400)), 0)).toEqual(chain);
});
