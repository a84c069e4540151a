import { randomBytes } from 'node:crypto';
import { Problem } from '@certwright/errors';
import {
  apiKeySha256,
  FailedAuthentication,
  KeyAuthentication,
  MemoryTokenBuckets,
  mintApiKey,
} from '@certwright/service';
import { accessSettings, anonymousRates, failedAuthenticationRate } from './access-settings';
import { AnonymousLimits } from './anonymous-limits';
import { type Access, SearchAccess, type SearchKey, type SearchPlan } from './search-access';

const standard: SearchPlan = {
  name: 'standard',
  queriesPerS: 2,
  burst: 3,
  timeLimitMs: 20_000,
  firehose: false,
};
const plain: SearchKey = {
  keyId: '7',
  accountId: '42',
  permissions: ['Search Certificates'],
  disabled: false,
  suspended: false,
  plan: standard,
};
const secret = mintApiKey('42', randomBytes);
const [here, elsewhere] = ['192.0.2.1', '2001:db8:0:1::/64'];
const byDefault = Object.fromEntries(
  Object.entries(accessSettings).map(([name, setting]) => [
    name,
    'default' in setting ? setting.default : '',
  ]),
) as Parameters<typeof anonymousRates>[0];

/** @param known additional keys, by header; a plain one always exists */
function opened(known: Readonly<Record<string, SearchKey>> = {}) {
  const clock = { ms: 0 };
  const nowMs = () => clock.ms;
  const keys = new Map(
    Object.entries({ ...known, [secret]: plain }).map(([sent, key]) => [digest(sent), key]),
  );
  const source = { find: (sha256: Buffer) => Promise.resolve(keys.get(sha256.toString('hex')) ?? null) };
  const buckets = new MemoryTokenBuckets({ nowMs });
  const failures = new FailedAuthentication(buckets, failedAuthenticationRate(byDefault), nowMs);
  const access = new SearchAccess(
    new KeyAuthentication(source, failures),
    buckets,
    new AnonymousLimits(buckets, anonymousRates(byDefault)),
    byDefault.ANONYMOUS_TIME_LIMIT,
  );
  const admit = async (authorization?: string, addressKey: string = here) =>
    await access.admit({ authorization, addressKey });
  /** Anonymous, late enough after the previous one that only the hourly limit counts. */
  const query = async (kind: 'single' | 'subdomains', addressKey: string = here) =>
    await access.countAnonymous({ kind: 'anonymous', timeLimitMs: 1 }, addressKey, kind);
  return { access, admit, query, clock };
}
const digest = (sent: string): string => apiKeySha256(sent).toString('hex');
const bearer = (key: string = secret): string => `Bearer ${key}`;
const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString('base64')}`;

/** The code of the Problem, or `admitted`; with Retry-After in seconds if present. */
async function outcome(admission: Promise<unknown>): Promise<string> {
  try {
    await admission;
    return 'admitted';
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.retryAfterS === undefined ? error.code : `${error.code} ${error.retryAfterS}`;
  }
}
async function outcomes(count: number, attempt: () => Promise<unknown>): Promise<Record<string, number>> {
  const seen: Record<string, number> = {};
  for (let i = 0; i < count; i += 1) {
    const each = await outcome(attempt());
    seen[each] = (seen[each] ?? 0) + 1;
  }
  return seen;
}

describe('a request with an API key', () => {
  it.each([
    ['as a Bearer token', bearer()],
    ['as the user name of Basic authentication', basic(`${secret}:`)],
  ])('is let in under the plan of its account: %s', async (_how, authorization) => {
    const { admit } = opened();
    const key = { kind: 'key', keyId: '7', accountId: '42', timeLimitMs: 20_000, firehose: false };
    expect(await admit(authorization)).toEqual(key);
  });

  it.each([
    ['that is disabled, paid or not', { disabled: true, suspended: true }, 'disabled_credentials'],
    ['whose subscription is suspended', { suspended: true }, 'payment_required'],
    ['that may only order', { permissions: ['Order and Manage Certificates'] }, 'unauthorized'],
    ['that may do nothing', { permissions: [] }, 'unauthorized'],
    ['with words that grant nothing', { permissions: ['full access', '__proto__'] }, 'unauthorized'],
    ['with Full Access', { permissions: ['Full Access'] }, 'admitted'],
  ])('%s: %#', async (_which, change, expected) => {
    const other = mintApiKey('1', randomBytes);
    const { admit } = opened({ [other]: { ...plain, ...change } });
    expect(await outcome(admit(bearer(other)))).toBe(expected);
  });

  it('is counted at the rate of the plan, together with the other keys of the account, whatever the address', async () => {
    const second = mintApiKey('42', randomBytes);
    const stranger = mintApiKey('1', randomBytes);
    const { admit, clock } = opened({
      [second]: { ...plain, keyId: '8' },
      [stranger]: { ...plain, accountId: '1' },
    });
    expect(await outcomes(2, () => admit(bearer()))).toEqual({ admitted: 2 });
    expect(await outcomes(2, () => admit(bearer(second), elsewhere))).toEqual({
      admitted: 1,
      'rate_limited 1': 1,
    });
    expect(await outcomes(3, () => admit(bearer(stranger)))).toEqual({ admitted: 3 });
    clock.ms += 1_000;
    expect(await outcomes(3, () => admit(bearer()))).toEqual({ admitted: 2, 'rate_limited 1': 1 });
  });

  it('does not count as an anonymous one', async () => {
    const { access, admit, query } = opened();
    const key = await admit(bearer());
    for (let i = 0; i < 20; i += 1) await access.countAnonymous(key, here, 'subdomains');
    expect(await outcomes(11, () => query('subdomains'))).toEqual({ admitted: 10, 'rate_limited 360': 1 });
  });
});

describe('an invalid API key', () => {
  it.each([
    ['a key that does not exist', bearer(mintApiKey('42', randomBytes))],
    ['a part of one', bearer(secret.slice(0, -1))],
    ['a key with a password', basic(`${secret}:x`)],
    ['a key without a colon', basic(secret)],
    ['another scheme', `Digest ${secret}`],
    ['a key without a scheme', secret],
    ['a scheme without a key', 'Bearer'],
    ['nothing at all', ''],
    ['a blank', ' '],
    ['two keys', `Bearer ${secret}, Bearer ${secret}`],
    ['a NUL', basic(`${secret}\0:`)],
    ['a lone surrogate', 'Bearer \u{D800}'],
    ['the name of a prototype', 'Bearer __proto__'],
    ['16 KiB', `Bearer 1_${'a'.repeat(16_384)}`],
  ])('is bad_credentials and never anonymous: %s', async (_what, authorization) => {
    expect(await outcome(opened().admit(authorization))).toBe('bad_credentials');
  });

  it('returns 429 over the limit of its address, while a valid key and anonymous requests still work', async () => {
    const { admit } = opened();
    const wrong = () => admit(bearer(mintApiKey('42', randomBytes)));
    expect(await outcomes(12, wrong)).toEqual({ bad_credentials: 10, 'rate_limited 6': 2 });
    expect(await outcome(admit(bearer()))).toBe('admitted');
    expect(await outcome(admit())).toBe('admitted');
    expect(await outcome(admit('Bearer', elsewhere))).toBe('bad_credentials');
  });
});

describe('a request without a key', () => {
  it('is admitted as anonymous, for 5 s', async () => {
    expect(await opened().admit()).toEqual({ kind: 'anonymous', timeLimitMs: 5_000 });
  });

  it('is counted per second and per minute, separately for each address', async () => {
    const { admit, clock } = opened();
    expect(await outcomes(6, () => admit())).toEqual({ admitted: 5, 'rate_limited 1': 1 });
    expect(await outcomes(5, () => admit(undefined, elsewhere))).toEqual({ admitted: 5 });
    // 5 a second for 18 s would be 90; the minute holds 75, and 1.25 more each second.
    let admitted = 5;
    for (let second = 1; second <= 30; second += 1) {
      clock.ms += 1_000;
      admitted += (await outcomes(5, () => admit()))['admitted'] ?? 0;
    }
    expect(admitted).toBe(75 + 37);
  });

  it.each([
    ['single', 100, 36],
    ['subdomains', 10, 360],
  ] as const)('is counted by the hour when its query holds: %s', async (kind, max, waitS) => {
    const { query, clock } = opened();
    expect(await outcomes(max + 1, () => query(kind))).toEqual({
      admitted: max,
      [`rate_limited ${waitS}`]: 1,
    });
    // Retry-After is correct: not two seconds earlier, and then once.
    clock.ms += (waitS - 2) * 1_000;
    expect(await outcome(query(kind))).toMatch(/^rate_limited [23]$/);
    clock.ms += 2_000;
    expect(await outcomes(2, () => query(kind))).toEqual({ admitted: 1, [`rate_limited ${waitS}`]: 1 });
    expect(await outcome(query(kind, elsewhere))).toBe('admitted');
    expect(await outcome(query(kind === 'single' ? 'subdomains' : 'single'))).toBe('admitted');
  });
});

describe('the firehose', () => {
  const { access } = opened();
  const key = { kind: 'key', keyId: '7', accountId: '42', timeLimitMs: 1 } as const;
  it.each<[string, Access, string]>([
    ['a plan that includes it', { ...key, firehose: true }, 'admitted'],
    ['a plan that does not', { ...key, firehose: false }, 'not_allowed_by_plan'],
    ['no key', { kind: 'anonymous', timeLimitMs: 1 }, 'bad_credentials'],
  ])('is for %s', async (_who, admitted, expected) => {
    expect(await outcome((async () => access.requireFirehose(admitted))())).toBe(expected);
  });
});
