import { randomBytes } from 'node:crypto';
import { Problem } from '@certwright/errors';
import { MemoryTokenBuckets } from '../limits/token-buckets';
import { apiKeySha256, mintApiKey } from './api-key';
import { type Admission, Authenticator, isUser } from './authenticator';
import { readCredentials } from './credentials';
import type { KnownApiKey } from './key-cache';
import { type KnownUser, Passwords } from './passwords';

const key = mintApiKey('93847561029384', randomBytes);
const basic = (pair: string | Buffer): string => `Basic ${Buffer.from(pair).toString('base64')}`;

describe('the Authorization header, where passwords are taken', () => {
  const read = (header: string) => readCredentials(header, { passwords: true });
  const user = (userName: string, password: string) => ({ kind: 'password', userName, password });

  it.each([
    ['a user name and a password', 'a@example.com:secret', 'a@example.com', 'secret'],
    ['a user name in capitals', 'A@Example.COM:Secret', 'a@example.com', 'Secret'],
    ['colons in the password', 'a@example.com::se:cret:', 'a@example.com', ':se:cret:'],
    ['UTF-8', 'Ä@example.com:Grüße 🔑', 'ä@example.com', 'Grüße 🔑'],
    ['the API key as user name', `${key}:secret`, key.toLowerCase(), 'secret'],
    ['the longest of both', `${'a'.repeat(254)}:${'p'.repeat(1_024)}`, 'a'.repeat(254), 'p'.repeat(1_024)],
  ])('holds %s', (_what, pair, userName, password) => {
    expect(read(basic(pair))).toEqual(user(userName, password));
  });

  it.each([`Bearer ${key}`, basic(`${key}:`)])('%s holds the key as ever', (header) => {
    expect(read(header)).toEqual({ kind: 'key', apiKey: key });
  });

  it.each([
    ['no user name', basic(':secret')],
    ['no password', basic('a@example.com:')],
    ['no colon', basic('a@example.com')],
    ['nothing', basic('')],
    ['Latin-1', basic(Buffer.from('a@example.com:Grüße', 'latin1'))],
    ['half a character', basic(Buffer.from([0x61, 0x3a, 0xf0, 0x9f, 0x94]))],
    ['a NUL in the password', basic('a@example.com:se\0cret')],
    ['a line break in the user name', basic('a@example.com\n:secret')],
    ['a control character of Unicode', basic('a@example.com:se\u0085cret')],
    ['too long a user name', basic(`${'a'.repeat(255)}:secret`)],
    ['too long a password', basic(`a:${'p'.repeat(1_025)}`)],
    ['characters outside base64', `Basic !!${Buffer.from('a:b').toString('base64')}`],
    ['a user name and a password as Bearer', `Bearer ${Buffer.from('a:b').toString('base64')}`],
  ])('with %s is malformed', (_what, header) => {
    expect(read(header)).toEqual({ kind: 'malformed' });
  });
});

const limits = {
  reads: { ratePerS: 25, burst: 50 },
  writes: { ratePerS: 5, burst: 20 },
  failedAuthentication: { ratePerS: 1 / 6, burst: 10 },
};
const users: Readonly<Record<string, KnownUser>> = {
  'a@example.com': { userId: '7', accountId: '42', passwordHash: 'right', disabled: false },
  'b@example.com': { userId: '8', accountId: '43', passwordHash: 'right', disabled: false },
  'gone@example.com': { userId: '9', accountId: '42', passwordHash: 'right', disabled: true },
};
const knownKey: KnownApiKey = { keyId: '1', accountId: '42', permissions: ['Full Access'], disabled: false };

function setUp({ rememberedMs = 10_000 } = {}) {
  const clock = { ms: 0 };
  const nowMs = () => clock.ms;
  let checks = 0;
  const fits = async (password: string, stored: string) => ((checks += 1), password === stored);
  const passwords = new Passwords(
    { find: async (name) => (Object.hasOwn(users, name) ? (users[name] ?? null) : null) },
    { nowMs, fits, rememberedMs },
  );
  const authenticator = new Authenticator(
    { find: async (sha256) => (sha256.equals(apiKeySha256(key)) ? knownKey : null) },
    new MemoryTokenBuckets({ nowMs }),
    limits,
    passwords,
    nowMs,
  );
  const admit = async (authorization: string | undefined, over: Partial<Admission> = {}) => {
    const access = { kind: 'permission', anyOf: ['Order and Manage Certificates'] } as const;
    try {
      const caller = await authenticator.admit({
        authorization,
        addressKey: '192.0.2.1',
        method: 'GET',
        access,
        ...over,
      });
      return `${caller.accountId} ${caller.keyId}`;
    } catch (error) {
      if (error instanceof Problem) return `${error.code}${error.retryAfterS === undefined ? '' : ' wait'}`;
      throw error;
    }
  };
  const times = async (count: number, authorization: string, over: Partial<Admission> = {}) => {
    const outcomes: Record<string, number> = {};
    for (let n = 0; n < count; n += 1) {
      const outcome = await admit(authorization, over);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
    return outcomes;
  };
  return { clock, admit, times, checks: () => checks };
}

describe('a user', () => {
  it('with the right password may do everything, under a name of its own', async () => {
    const { admit } = setUp();
    expect(await admit(basic('A@example.com:right'))).toBe('42 user:7');
    expect([isUser({ accountId: '42', keyId: 'user:7' }), isUser({ accountId: '42', keyId: '7' })]).toEqual([
      true,
      false,
    ]);
  });

  it.each([
    ['with a wrong password', basic('a@example.com:wrong'), 'bad_credentials'],
    ['who does not exist', basic('c@example.com:right'), 'bad_credentials'],
    ['named like something of the language', basic('__proto__:right'), 'bad_credentials'],
    ['who is disabled', basic('gone@example.com:right'), 'disabled_credentials'],
    ['who is disabled, with a wrong password', basic('gone@example.com:wrong'), 'bad_credentials'],
    ['without credentials', undefined, 'bad_credentials'],
  ])('%s is not let in', async (_what, authorization, expected) => {
    expect(await setUp().admit(authorization)).toBe(expected);
  });

  it('may read and write as much as an API key may', async () => {
    const { times } = setUp();
    const right = basic('a@example.com:right');
    expect(await times(60, right)).toEqual({ '42 user:7': 50, 'rate_limited wait': 10 });
    expect(await times(30, right, { method: 'POST' })).toEqual({ '42 user:7': 20, 'rate_limited wait': 10 });
  });
});

describe('wrong passwords', () => {
  it('get 429 after ten from one address, for any user name, and are no longer checked', async () => {
    const { admit, times, checks } = setUp();
    for (let n = 0; n < 10; n += 1) await admit(basic(`unknown${n}@example.com:wrong`));
    const before = checks();
    expect(await times(5, basic('a@example.com:right'))).toEqual({ 'rate_limited wait': 5 });
    expect(checks()).toBe(before);
    expect(await admit(basic('a@example.com:right'), { addressKey: '192.0.2.2' })).toBe('42 user:7');
  });

  it('receive 429 after ten for one user name, wherever they come from', async () => {
    const { admit, checks } = setUp();
    const outcomes: string[] = [];
    for (let n = 0; n < 12; n += 1)
      outcomes.push(await admit(basic('a@example.com:wrong'), { addressKey: `198.51.100.${n}` }));
    expect(outcomes).toEqual([
      ...Array<string>(10).fill('bad_credentials'),
      'rate_limited wait',
      'rate_limited wait',
    ]);
    expect(checks()).toBe(10);
    expect(await admit(basic('A@EXAMPLE.com:right'))).toBe('rate_limited wait');
    expect(await admit(basic('b@example.com:right'))).toBe('43 user:8');
  });

  it('are limited alike for a user who does not exist', async () => {
    const { times, checks } = setUp();
    expect(await times(12, basic('unknown@example.com:wrong'))).toEqual({
      bad_credentials: 10,
      'rate_limited wait': 2,
    });
    expect(checks()).toBe(10);
  });

  it('lock no API key out', async () => {
    const { admit, times } = setUp();
    await times(30, basic('a@example.com:wrong'));
    expect(await admit(`Bearer ${key}`)).toBe('42 1');
    expect(await admit(basic(`${key}:`))).toBe('42 1');
  });

  it('over the limit hide a remembered password, so that it cannot be guessed quickly', async () => {
    const { admit, clock } = setUp();
    expect(await admit(basic('a@example.com:right'))).toBe('42 user:7');
    for (let n = 0; n < 11; n += 1)
      await admit(basic(`a@example.com:wrong ${n}`), { addressKey: `198.51.100.${n}` });
    const elsewhere = { addressKey: '203.0.113.9' };
    expect(await admit(basic('a@example.com:right'), elsewhere)).toBe('rate_limited wait');
    clock.ms += 6_000;
    expect(await admit(basic('a@example.com:right'), elsewhere)).toBe('42 user:7');
  });

  it('lock no user out at an address from which that user has signed in before, within two days', async () => {
    const { admit, clock } = setUp();
    const right = basic('a@example.com:right');
    const tryElsewhere = async () => {
      for (let n = 0; n < 11; n += 1)
        await admit(basic(`a@example.com:wrong ${n}`), { addressKey: `198.51.100.${n}` });
    };
    expect(await admit(right)).toBe('42 user:7');
    await tryElsewhere();
    expect(await admit(right)).toBe('42 user:7');
    expect(await admit(basic('b@example.com:right'), { addressKey: '198.51.100.1' })).toBe('43 user:8');
    clock.ms += 48 * 3_600_000;
    await tryElsewhere();
    expect(await admit(right)).toBe('rate_limited wait');
  });

  it('with other names, and wrong keys, lock no user out at an address from which that user has signed in', async () => {
    const { admit, times } = setUp();
    const right = basic('a@example.com:right');
    expect(await admit(right)).toBe('42 user:7');
    for (let n = 0; n < 12; n += 1) await admit(basic(`unknown${n}@example.com:wrong`));
    expect(await times(3, `Bearer ${mintApiKey('1', randomBytes)}`)).toEqual({ 'rate_limited wait': 3 });
    expect(await admit(right)).toBe('42 user:7');
    // A user who never signed in there is still limited.
    expect(await admit(basic('b@example.com:right'))).toBe('rate_limited wait');
  });

  it('are limited at such an address too, and allow no more guesses elsewhere', async () => {
    const { admit, times } = setUp();
    expect(await admit(basic('a@example.com:right'))).toBe('42 user:7');
    expect(await times(12, basic('a@example.com:wrong'))).toEqual({
      bad_credentials: 10,
      'rate_limited wait': 2,
    });
    expect(await admit(basic('a@example.com:right'))).toBe('rate_limited wait');
  });

  it('come again one every six seconds', async () => {
    const { times, clock, checks } = setUp();
    await times(11, basic('a@example.com:wrong'));
    clock.ms += 6_000;
    expect(await times(3, basic('a@example.com:wrong'))).toEqual({
      bad_credentials: 1,
      'rate_limited wait': 2,
    });
    expect(checks()).toBe(11);
  });

  it('are counted before they are checked, so that parallel guesses stay within the limit', async () => {
    const { admit, checks } = setUp();
    const all = Array.from({ length: 40 }, (_, n) => admit(basic(`a@example.com:wrong ${n}`)));
    const outcomes = await Promise.all(all);
    expect(outcomes.filter((outcome) => outcome === 'bad_credentials')).toHaveLength(10);
    expect(checks()).toBe(10);
  });

  it('alone are counted, not right ones', async () => {
    const { times, checks } = setUp({ rememberedMs: 0 });
    expect(await times(30, basic('a@example.com:right'))).toEqual({ '42 user:7': 30 });
    expect(checks()).toBe(30);
    expect(await times(12, basic('a@example.com:wrong'))).toEqual({
      bad_credentials: 10,
      'rate_limited wait': 2,
    });
  });

  it('share the limit of their address with wrong API keys', async () => {
    const { times } = setUp();
    await times(10, `Bearer ${mintApiKey('1', randomBytes)}`);
    expect(await times(1, basic('a@example.com:right'))).toEqual({ 'rate_limited wait': 1 });
  });
});

it('without passwords, user name and password are no credentials at all', async () => {
  const authenticator = new Authenticator({ find: async () => null }, new MemoryTokenBuckets(), limits);
  const admission: Admission = {
    authorization: basic('a@example.com:right'),
    addressKey: '192.0.2.1',
    method: 'GET',
    access: { kind: 'authenticated' },
  };
  await expect(authenticator.admit(admission)).rejects.toMatchObject({
    code: 'bad_credentials',
    message: 'There is no such API key.',
  });
});
