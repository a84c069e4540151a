import { neutralMessage } from '@certwright/outcome-messages';
import type { Caa } from '@certwright/dns-authority';
import { preflight, type PreflightOutcome, type PreflightQuestion, type PreflightVerdict } from './preflight';
import { byDns, plain, Resolver, type Said } from './testing/fake-resolver';

const caa = (tag: string, value: string): Caa => ({ flags: 0, tag, value });
const free = {
  take: async () => await Promise.resolve({ taken: true as const }),
};

async function check(also: Partial<PreflightQuestion>, said: Said = {}) {
  const resolver = new Resolver(said);
  const outcomes: PreflightOutcome[] = [];
  const onVerdict = (_authority: string, outcome: PreflightOutcome) => void outcomes.push(outcome);
  const ports = { lookUp: resolver.lookUp, buckets: free, onVerdict };
  const verdict = await preflight({ ...plain, ...also }, ports);
  return { verdict, resolver, outcomes };
}

const messageOf = (verdict: PreflightVerdict) =>
  verdict.kind === 'refused' ? neutralMessage(verdict.error.outcome) : verdict.kind;

describe('the number of names', () => {
  const names = byDns(...Array.from({ length: 26 }, (_, index) => `n${index}.example.com`));
  const limited = { ...plain.authority, caaDomains: [] };
  const tlsserver = { profileLimits: { tlsserver: { maxDnsNames: 25 } } };

  it.each<[string, Partial<PreflightQuestion>, string | null]>([
    ['is what the product allows', { product: { name: 'free_ca', maxDnsNames: 26 } }, null],
    [
      'is not more than the product allows',
      { product: { name: 'free_ca', maxDnsNames: 25 } },
      'the product free_ca allows at most 25',
    ],
    [
      'is not more than the profile allows',
      { profile: 'tlsserver', authority: { ...limited, limits: tlsserver } },
      'the CA good-ca under its profile tlsserver allows at most 25',
    ],
    [
      'may be more under another profile',
      { profile: 'classic', authority: { ...limited, limits: tlsserver } },
      null,
    ],
    [
      'is not more than the CA allows',
      { authority: { ...limited, limits: { maxDnsNames: 10 } } },
      'the CA good-ca allows at most 10',
    ],
    [
      'may be more under a profile that says so',
      {
        profile: 'big',
        authority: { ...limited, limits: { maxDnsNames: 10, profileLimits: { big: { maxDnsNames: 50 } } } },
      },
      null,
    ],
    [
      'is no business of a profile called like a property',
      { profile: 'constructor', authority: { ...limited, limits: tlsserver } },
      null,
    ],
  ])('%s', async (_, also, problem) => {
    const { verdict, outcomes } = await check({ authority: limited, ...also, names });
    if (problem === null) return expect(verdict.kind).toBe('ready');
    expect(verdict).toMatchObject({
      kind: 'refused',
      retryable: false,
      error: { code: 'names_not_allowed' },
    });
    expect(messageOf(verdict)).toMatch(`There are 26 names, but ${problem} `);
    expect(outcomes).toEqual(['names_not_allowed']);
  });
});

describe('CAA', () => {
  it('is left to a CA without CAA names', async () => {
    const authority = { ...plain.authority, caaDomains: [] };
    const { verdict, resolver } = await check({ authority }, { 'example.com': [caa('issue', ';')] });
    expect(verdict).toEqual({ kind: 'ready', taken: [] });
    expect(resolver.queried).toEqual([]);
  });

  it('refuses with the name, the record, the allowed CAs and what to do', async () => {
    const { verdict, outcomes } = await check({}, { 'example.com': [caa('issue', 'other.example')] });
    expect(verdict).toMatchObject({ kind: 'refused', retryable: false, error: { code: 'caa_forbids' } });
    expect(messageOf(verdict)).toBe(
      'For www.example.com, the CAA records of example.com allow only other.example to issue (0 issue "other.example"). ' +
        'Add the record example.com. CAA 0 issue "ca.example", or choose a product of a CA that they name.',
    );
    expect(outcomes).toEqual(['caa_forbids']);
  });

  it('is checked for every name, a wildcard by issuewild', async () => {
    const names = byDns('example.com', '*.example.com', 'example.net');
    const { verdict } = await check({ names }, { 'example.com': [caa('issuewild', ';')] });
    expect(messageOf(verdict)).toMatch(/^For \*\.example\.com, /);
  });

  it('is checked with the challenge of each name', async () => {
    const said = { 'example.com': [caa('issue', 'ca.example; validationmethods=http-01')] };
    const names = [{ dnsName: 'example.com', challenge: 'http-01' as const }];
    expect((await check({ names }, said)).verdict.kind).toBe('ready');
    expect((await check({ names: byDns('example.com') }, said)).verdict.kind).toBe('refused');
  });

  it('looks up every parent once, eight names at a time', async () => {
    const names = byDns(...Array.from({ length: 40 }, (_, index) => `n${index}.a.example.com`));
    const { verdict, resolver } = await check({ names });
    expect(verdict.kind).toBe('ready');
    expect(resolver.maxAtOnce).toBe(8);
    expect(resolver.queried).toHaveLength(43);
    expect(new Set(resolver.queried).size).toBe(43);
  });

  it('refuses for now when it cannot be looked up', async () => {
    const { verdict, outcomes } = await check({}, { 'example.com': 'servfail' });
    expect(verdict).toMatchObject({ kind: 'refused', retryable: true, error: { code: 'caa_forbids' } });
    expect(messageOf(verdict)).toBe(
      'The CAA records of example.com could not be looked up at 127.0.0.1:53 (SERVFAIL), and no CA may issue for ' +
        "www.example.com without them. Make the zone's name servers respond to queries for CAA; an empty response is " +
        'enough. It is tried again automatically.',
    );
    expect(outcomes).toEqual(['caa_unknown']);
  });

  it('reports definite refusals before unknown ones, and how many more there are', async () => {
    const names = byDns('a.example.com', 'b.example.com', 'example.net');
    const said: Said = {
      'a.example.com': 'servfail',
      'b.example.com': [caa('issue', ';')],
      'example.net': [caa('issue', ';')],
    };
    const { verdict } = await check({ names }, said);
    expect(verdict).toMatchObject({ retryable: false });
    expect(messageOf(verdict)).toMatch(/^For b\.example\.com, .* 2 more of the names/);
  });

  it('is limited to eight seconds for all names', async () => {
    const timeUp = new AbortController();
    const timeout = jest.spyOn(AbortSignal, 'timeout').mockImplementation(() => timeUp.signal);
    const pending = check({ names: byDns('a.example.com', 'b.example.com') }, { 'a.example.com': 'silent' });
    expect(timeout.mock.calls).toEqual([[8_000]]);
    timeout.mockRestore();
    timeUp.abort();
    const { verdict } = await pending;
    expect(verdict).toMatchObject({ kind: 'refused', retryable: true });
  });
});
