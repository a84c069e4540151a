import { randomBytes } from 'node:crypto';
import { Problem } from '@certwright/errors';
import { MemoryTokenBuckets } from '../limits/token-buckets';
import { apiKeySha256, mintApiKey } from './api-key';
import { type Admission, Authenticator } from './authenticator';
import { readCredentials } from './credentials';
import { ApiKeyCache, type ApiKeys, type KnownApiKey } from './key-cache';

const key = mintApiKey('93847561029384', randomBytes);
const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString('base64')}`;

describe('an API key', () => {
  it('is <account id>_<base64url of 24 random bytes>', () => {
    expect(mintApiKey('42', (size) => Buffer.alloc(size, 0xff))).toBe(`42_${'_'.repeat(32)}`);
  });

  it('is known by SHA-256 over the whole key as sent', () => {
    expect(apiKeySha256('abc').toString('hex')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
  });
});

describe('the Authorization header', () => {
  it.each([`Bearer ${key}`, `bearer ${key}`, basic(`${key}:`), basic(`${key}:`).replace(/=+$/, '')])(
    '%s holds the key',
    (header) => {
      expect(readCredentials(header)).toEqual({ kind: 'key', apiKey: key });
    },
  );

  it.each([
    ['no scheme', key],
    ['a password', basic(`${key}:x`)],
    ['no colon', basic(key)],
    ['two colons', basic(`${key}::`)],
    ['characters outside base64', `Basic !!${Buffer.from(`${key}:`).toString('base64')}`],
    ['another scheme', `Digest ${key}`],
    ['two tokens', `Bearer ${key} ${key}`],
    ['a trailing space', `Bearer ${key} `],
    ['an empty token', 'Bearer '],
    ['a token that cannot be a key', 'Bearer eyJhbGciOiJub25lIn0.e30.'],
    ['an endless token', `Bearer 1_${'a'.repeat(5_000)}`],
    ['a NUL in the user name', basic(`${key}\0:`)],
  ])('with %s is malformed', (_what, header) => {
    expect(readCredentials(header)).toEqual({ kind: 'malformed' });
  });

  it('may be absent', () => {
    expect(readCredentials(undefined)).toEqual({ kind: 'none' });
  });
});

const known: KnownApiKey = {
  keyId: '7',
  accountId: '42',
  permissions: ['Order and Manage Certificates'],
  disabled: false,
};

describe('the cache of API keys', () => {
  function cached(find: () => Promise<KnownApiKey | null>, maxEntries = 100) {
    let lookups = 0;
    const clock = { ms: 0 };
    const source: ApiKeys = { find: () => ((lookups += 1), find()) };
    const cache = new ApiKeyCache(source, { nowMs: () => clock.ms, maxEntries });
    return { cache, clock, lookups: () => lookups };
  }
  const digest = (n: number): Buffer => apiKeySha256(String(n));

  it.each([[known], [null]])('answers %o again for 10 s', async (find) => {
    const { cache, clock, lookups } = cached(() => Promise.resolve(find));
    expect([await cache.find(digest(1)), await cache.find(digest(1)), lookups()]).toEqual([find, find, 1]);
    clock.ms += 10_000;
    await cache.find(digest(1));
    expect(lookups()).toBe(2);
  });

  it('looks a key up once for concurrent requests', async () => {
    const { cache, lookups } = cached(() => Promise.resolve(known));
    expect(await Promise.all([1, 1, 1].map((n) => cache.find(digest(n))))).toEqual([known, known, known]);
    expect(lookups()).toBe(1);
  });

  it('does not remember a failed look-up', async () => {
    let fails = true;
    const { cache } = cached(() =>
      fails ? Promise.reject(new Error('unreachable')) : Promise.resolve(known),
    );
    await expect(cache.find(digest(1))).rejects.toThrow('unreachable');
    fails = false;
    expect(await cache.find(digest(1))).toEqual(known);
  });

  it('forgets a key that was disabled, also while a look-up of it is under way', async () => {
    const resolvers: ((found: KnownApiKey | null) => void)[] = [];
    const { cache, lookups } = cached(() => new Promise((resolve) => resolvers.push(resolve)));
    const early = cache.find(digest(1));
    cache.forget(digest(1));
    const late = cache.find(digest(1));
    resolvers[1]?.({ ...known, disabled: true });
    resolvers[0]?.(known);
    expect([await early, await late]).toEqual([known, { ...known, disabled: true }]);
    expect(await cache.find(digest(1))).toMatchObject({ disabled: true });
    cache.clear();
    void cache.find(digest(1));
    expect(lookups()).toBe(3);
  });

  it('caches a bounded number of results; unknown keys evict no known ones', async () => {
    const { cache, lookups } = cached(() => Promise.resolve(lookups() === 1 ? known : null), 3);
    await cache.find(digest(0));
    for (let n = 1; n <= 10; n += 1) await cache.find(digest(n));
    await cache.find(digest(0));
    await cache.find(digest(10));
    expect(lookups()).toBe(11);
    await cache.find(digest(1));
    expect(lookups()).toBe(12);
  });
});

describe('a request is let in', () => {
  const limits = {
    reads: { ratePerS: 25, burst: 50 },
    writes: { ratePerS: 5, burst: 20 },
    failedAuthentication: { ratePerS: 1 / 6, burst: 10 },
  };
  const read: Admission = {
    authorization: `Bearer ${key}`,
    addressKey: '192.0.2.1',
    method: 'GET',
    access: { kind: 'authenticated' },
  };

  function authenticator(found: KnownApiKey | null = known): Authenticator {
    const keys: ApiKeys = {
      find: (sha256) => Promise.resolve(sha256.equals(apiKeySha256(key)) ? found : null),
    };
    return new Authenticator(keys, new MemoryTokenBuckets({ nowMs: () => 0 }), limits);
  }
  async function outcome(subject: Authenticator, admission: Admission): Promise<string> {
    try {
      return (await subject.admit(admission)).accountId;
    } catch (error) {
      if (error instanceof Problem) return error.code;
      throw error;
    }
  }

  it.each([
    ['with its permission', known, '42'],
    ['with Full Access', { ...known, permissions: ['Full Access'] }, '42'],
    [
      'not without the permission',
      { ...known, permissions: ['Search Certificates', 'full access'] },
      'unauthorized',
    ],
    ['not with a disabled key', { ...known, disabled: true }, 'disabled_credentials'],
    ['not with an unknown key', null, 'bad_credentials'],
  ])('%s', async (_what, found, expected) => {
    const access = { kind: 'permission', anyOf: ['Order and Manage Certificates'] } as const;
    expect(await outcome(authenticator(found), { ...read, access })).toBe(expected);
  });

  it('at 50 reads and 20 writes at once', async () => {
    const subject = authenticator();
    const outcomes: Record<string, number> = {};
    for (let i = 0; i < 60; i += 1) {
      for (const method of ['GET', 'POST']) {
        const name = `${method} ${await outcome(subject, { ...read, method })}`;
        outcomes[name] = (outcomes[name] ?? 0) + 1;
      }
    }
    expect(outcomes).toEqual({
      'GET 42': 50,
      'GET rate_limited': 10,
      'POST 42': 20,
      'POST rate_limited': 40,
    });
  });

  it('with valid credentials also from an address whose failures are over the limit', async () => {
    const subject = authenticator();
    const wrong = { ...read, authorization: `Bearer ${mintApiKey('1', randomBytes)}` };
    const failures: string[] = [];
    for (let i = 0; i < 12; i += 1) failures.push(await outcome(subject, wrong));
    expect(failures).toEqual([...Array<string>(10).fill('bad_credentials'), 'rate_limited', 'rate_limited']);
    expect(await outcome(subject, read)).toBe('42');
    expect(await outcome(subject, { ...wrong, addressKey: '192.0.2.2' })).toBe('bad_credentials');
    expect(await outcome(subject, { ...read, authorization: undefined })).toBe('bad_credentials');
  });
});
