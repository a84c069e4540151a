import { addressKey, withoutPorts } from './client-address';
import { FallbackTokenBuckets } from './fallback-token-buckets';
import { MemoryTokenBuckets, type Taken, type TokenBuckets } from './token-buckets';
import { requestLimits } from './request-limits';

const perSecond = { ratePerS: 5, burst: 20, cost: 1 };

async function takeMany(
  buckets: TokenBuckets,
  key: string,
  times: number,
  take = perSecond,
): Promise<Taken[]> {
  const results: Taken[] = [];
  for (let i = 0; i < times; i += 1) results.push(await buckets.take(key, take));
  return results;
}

const granted = (results: readonly Taken[]): number => results.filter(({ ok }) => ok).length;

describe('a token bucket in memory', () => {
  it('grants the burst at once, then the rate, and says when to come again', async () => {
    let nowMs = 0;
    const buckets = new MemoryTokenBuckets({ nowMs: () => nowMs });
    expect(granted(await takeMany(buckets, 'writes:1', 25))).toBe(20);
    expect(await buckets.take('writes:1', perSecond)).toEqual({ ok: false, retryAfterS: 1 });
    nowMs += 1_000;
    expect(granted(await takeMany(buckets, 'writes:1', 10))).toBe(5);
    nowMs += 3_600_000;
    expect(granted(await takeMany(buckets, 'writes:1', 25))).toBe(20);
  });

  it('tells the wait of a slow bucket in whole seconds', async () => {
    const buckets = new MemoryTokenBuckets({ nowMs: () => 0 });
    const tenPerMinute = {
      ...requestLimits({ READS_PER_S: 25, WRITES_PER_S: 5, FAILED_AUTHENTICATION_PER_MIN: 10 })
        .failedAuthentication,
      cost: 1,
    };
    expect(granted(await takeMany(buckets, 'a', 10, tenPerMinute))).toBe(10);
    expect(await buckets.take('a', tenPerMinute)).toEqual({ ok: false, retryAfterS: 6 });
  });

  it('keeps keys apart, and no more buckets than it may', async () => {
    const buckets = new MemoryTokenBuckets({ maxBuckets: 2, nowMs: () => 0 });
    expect(granted(await takeMany(buckets, 'a', 21))).toBe(20);
    expect(granted(await takeMany(buckets, 'b', 1))).toBe(1);
    expect(granted(await takeMany(buckets, 'a', 1))).toBe(0);
    await takeMany(buckets, 'c', 1);
    expect(granted(await takeMany(buckets, 'a', 1))).toBe(0);
    await takeMany(buckets, 'd', 1);
    await takeMany(buckets, 'e', 1);
    expect(granted(await takeMany(buckets, 'a', 1))).toBe(1);
  });
});

describe('while the shared buckets', () => {
  const own = (): TokenBuckets => new MemoryTokenBuckets();

  it('are unavailable, the process counts on its own and no request fails', async () => {
    let lookups = 0;
    let nowMs = 0;
    const unavailable: TokenBuckets = {
      take: () => ((lookups += 1), Promise.reject(new Error('ECONNREFUSED'))),
    };
    const buckets = new FallbackTokenBuckets(unavailable, own(), () => nowMs);
    expect(granted(await takeMany(buckets, 'a', 25))).toBe(20);
    expect(lookups).toBe(1);
    nowMs += 1_001;
    await takeMany(buckets, 'b', 5);
    expect(lookups).toBe(2);
  });

  it('are slow, a request waits 50 ms once and the late answer is ignored', async () => {
    let resolveLate: (taken: Taken) => void = () => undefined;
    let lookups = 0;
    const slow: TokenBuckets = {
      take: () => ((lookups += 1), new Promise((resolve) => (resolveLate = resolve))),
    };
    const buckets = new FallbackTokenBuckets(slow, own(), () => 0);
    const begun = performance.now();
    expect(granted(await takeMany(buckets, 'a', 3))).toBe(3);
    resolveLate({ ok: false, retryAfterS: 9 });
    expect(performance.now() - begun).toBeGreaterThan(40);
    expect(lookups).toBe(1);
  });

  it('answer, their answer counts', async () => {
    const strict: TokenBuckets = { take: () => Promise.resolve({ ok: false, retryAfterS: 3 }) };
    expect(await new FallbackTokenBuckets(strict, own()).take('a', perSecond)).toEqual({
      ok: false,
      retryAfterS: 3,
    });
  });
});

describe('an address is counted', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:DB8::7', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
  ])('%s as %s', (address, key) => {
    expect(addressKey(address, undefined)).toBe(key);
  });

  it('as the TCP peer when the forwarded one is no address', () => {
    expect(addressKey('<script>', '192.0.2.1')).toBe('192.0.2.1');
    expect(addressKey(undefined, undefined)).toBe('unknown');
  });
});

describe('X-Forwarded-For', () => {
  it.each([
    ['192.0.2.7:443', '192.0.2.7'],
    ['192.0.2.7:0', '192.0.2.7'],
    ['[2001:db8:1:2::7]:443', '2001:db8:1:2::7'],
    ['[2001:db8:1:2::7]', '2001:db8:1:2::7'],
    ['[::ffff:192.0.2.7]:65535', '::ffff:192.0.2.7'],
    ['192.0.2.1, 192.0.2.7:443 ,\t[::1]:80', '192.0.2.1,192.0.2.7,::1'],
  ])('%s is read as %s', (header, addresses) => {
    expect(withoutPorts(header)).toBe(addresses);
  });

  it.each([
    '192.0.2.7',
    '2001:db8::7',
    '192.0.2.7:',
    '192.0.2.7:x',
    '192.0.2.7:65536',
    '192.0.2.7:443:443',
    '192.0.2.7 :443',
    ':443',
    '[192.0.2.7]:443',
    '[2001:db8::7',
    '2001:db8::7]:443',
    '[2001:db8::7]443',
    '[2001:db8::7]:',
    'example.com:443',
    '[]',
    '',
    ',',
  ])('%s is left as it is', (header) => {
    expect(withoutPorts(header)).toBe(header);
  });
});

it('twice and four times the rate may come at once', () => {
  expect(requestLimits({ READS_PER_S: 25, WRITES_PER_S: 5, FAILED_AUTHENTICATION_PER_MIN: 10 })).toEqual({
    reads: { ratePerS: 25, burst: 50 },
    writes: { ratePerS: 5, burst: 20 },
    failedAuthentication: { ratePerS: 10 / 60, burst: 10 },
  });
});
