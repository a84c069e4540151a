import { ProviderFault } from '../provider-fault';
import { Json } from './json';
import { safeMessage } from './safe-message';
import { allPages } from './pages';
import { path } from './path';
import { retryAfterS, waitS } from './retry-after';

describe('Json', () => {
  const json = new Json({ a: { b: [1, 'x', null, true] }, n: null, id: 7 }, 'Provider');

  it('reads existing members', () => {
    const list = json.member('a').member('b').array();
    expect([list[0]?.number(), list[1]?.string(), list[3]?.boolean()]).toEqual([1, 'x', true]);
    expect([json.optional('n'), json.optional('missing'), json.member('id').id()]).toEqual([null, null, '7']);
  });

  it.each([
    ['a missing member', () => json.member('c'), 'the answer has no c'],
    ['a null member', () => json.member('n'), 'the answer has no n'],
    ['an inherited member', () => json.member('toString'), 'the answer has no toString'],
    [
      'a string that is a number',
      () => json.member('a').member('b').array()[0]?.string(),
      'a.b[0] is no string',
    ],
    ['an array that is an object', () => json.member('a').array(), 'a is no array'],
    ['a member of an array', () => json.member('a').member('b').optional('x'), 'a.b is no object'],
    ['an empty id', () => new Json('', 'Provider').id(), 'the answer is empty'],
  ])('%s is an error that names the path', (_, read, place) => {
    expect(read).toThrow(ProviderFault);
    expect(read).toThrow(place);
  });

  it('an error never shows the value', () => {
    expect(() => new Json({ token: 'secret-123' }, 'Provider').member('token').number()).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('secret-123') }),
    );
  });
});

describe("the text of a provider's refusal", () => {
  const secrets = ['dop_v1_0123456789abcdef'];

  it.each([
    ['Content is\ninvalid\u0000.', 'Content is invalid .'],
    ['bidi \u202e trick\u200b', 'bidi trick'],
    ["L'enregistrement n'existe pas", "L'enregistrement n'existe pas"],
    ['   ', null],
    [null, null],
  ])('%p becomes %p', (text, message) => {
    expect(safeMessage(text, secrets)).toBe(message);
  });

  it('are truncated to 200 characters', () => {
    expect(safeMessage('x'.repeat(5_000), [])).toHaveLength(201);
  });

  it.each([
    ['the secret', 'bad token dop_v1_0123456789abcdef'],
    ['a piece of it', 'bad token ...456789abcd...'],
    ['the secret in capitals', 'BAD TOKEN DOP_V1_0123456789ABCDEF'],
    ['the secret with spaces', 'bad token d o p _ v 1 _ 0 1 2 3 4 5 6 7'],
    ['the secret in base64', `Basic ${Buffer.from('dop_v1_0123456789abcdef').toString('base64')}`],
  ])('that hold %s are not repeated', (_, text) => {
    expect(safeMessage(text, secrets)).toBeNull();
  });

  it('a short secret is matched as a whole', () => {
    expect(safeMessage('the pin 4711 is wrong', ['4711'])).toBeNull();
    expect(safeMessage('the pin 471 is wrong', ['4711'])).toBe('the pin 471 is wrong');
  });
});

describe('Retry-After', () => {
  const now = new Date('2026-11-01T00:00:00Z');

  it.each([
    ['30', 30],
    ['0', 1],
    ['999999', 3_600],
    ['Sun, 01 Nov 2026 00:00:20 GMT', 20],
    ['Sun, 01 Nov 2020 00:00:20 GMT', 1],
    ['soon', undefined],
    ['-5', 1],
    ['', undefined],
    [undefined, undefined],
  ])('%p is %p seconds', (header, seconds) => {
    expect(retryAfterS(header, now)).toBe(seconds);
  });
});

describe('X-RateLimit-Reset', () => {
  const now = new Date('2026-11-01T00:00:00Z');
  const reset = (seconds: number) => String(now.getTime() / 1000 + seconds);

  it.each([
    ['rate_limited', { 'x-ratelimit-reset': reset(42) }, 42],
    ['rate_limited', { 'x-ratelimit-reset': reset(-5) }, 1],
    ['rate_limited', { 'x-ratelimit-reset': reset(86_400) }, 3_600],
    ['rate_limited', { 'x-ratelimit-reset': reset(42), 'retry-after': '7' }, 7],
    ['rate_limited', { 'x-ratelimit-reset': '60' }, undefined],
    ['rate_limited', {}, undefined],
    ['unavailable', { 'x-ratelimit-reset': reset(42) }, undefined],
    ['unavailable', { 'retry-after': '7' }, 7],
    ['rejected', { 'retry-after': '7' }, undefined],
  ] as const)('%s with %j is to be waited for %p seconds', (kind, headers, seconds) => {
    expect(waitS(kind, headers, now)).toBe(seconds);
  });
});

describe('path', () => {
  it('every value is one segment', () => {
    expect(path`/zones/${'a/../b?c#d'}/x/${'@'}`).toBe('/zones/a%2F..%2Fb%3Fc%23d/x/%40');
  });

  it.each(['', '.', '..'])('%p is no segment', (value) => {
    expect(() => path`/zones/${value}/x`).toThrow(ProviderFault);
  });
});

describe('pages', () => {
  const read = (pages: Readonly<Record<string, readonly [readonly string[], string | null]>>) => {
    const requested: string[] = [];
    const all = allPages(
      'Provider',
      'first',
      async (cursor: string) => {
        requested.push(cursor);
        const [items, next] = pages[cursor] ?? [[], null];
        return { items, next };
      },
      (item) => item,
      { maxPages: 5, maxItems: 6 },
    );
    return { all, requested };
  };

  it('are joined in order; an item that moved to a later page counts once', async () => {
    const { all } = read({ first: [['a', 'b'], '2'], '2': [['b', 'c'], null] });
    expect(await all).toEqual(['a', 'b', 'c']);
  });

  it('an empty page in the middle does not end the list', async () => {
    const { all } = read({ first: [['a'], '2'], '2': [[], '3'], '3': [['b'], null] });
    expect(await all).toEqual(['a', 'b']);
  });

  it('a cycle of empty pages ends at the first repetition', async () => {
    const { all, requested } = read({ first: [[], '2'], '2': [[], 'first'] });
    await expect(all).rejects.toMatchObject({ kind: 'unavailable' });
    expect(requested).toEqual(['first', '2']);
  });

  it.each([
    ['a cursor that comes again', { first: [['a'], '2'], '2': [['b'], 'first'] }],
    ['a page that comes again under another cursor', { first: [['a'], '2'], '2': [['a'], '3'] }],
    [
      'more pages than are read',
      { first: [['a'], '2'], '2': [['b'], '3'], '3': [['c'], '4'], '4': [['d'], '5'], '5': [['e'], '6'] },
    ],
    ['more items than are read', { first: [['a', 'b', 'c', 'd', 'e', 'f', 'g'], null] }],
  ] as const)('%s is a fault', async (_, pages) => {
    const { all, requested } = read(pages as never);
    await expect(all).rejects.toMatchObject({ kind: 'unavailable' });
    expect(requested.length).toBeLessThanOrEqual(5);
  });
});
