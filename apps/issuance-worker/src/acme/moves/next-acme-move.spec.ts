import type { AcmeProblemType } from '@certwright/issuance';
import type { AcmeProblem } from '../acme-problem';
import type { AcmeAuthorization, AcmeChallenge } from '../resources/authorization';
import type { AcmeOrder } from '../resources/order';
import { nextAcmeMove, type StoredProgress } from './next-acme-move';

const now = new Date('2026-11-20T12:00:00Z');
const inS = (seconds: number) => new Date(now.getTime() + seconds * 1_000);
const base = 'https://ca.example.com';

const order = (members: Partial<AcmeOrder> = {}): AcmeOrder =>
  ({
    url: `${base}/order/1`,
    status: 'pending',
    dnsNames: ['a.example.com', '*.b.example.com'],
    expires: inS(3_600),
    authorizationUrls: [`${base}/authorization/a`, `${base}/authorization/b`],
    finalizeUrl: `${base}/finalize/1`,
    certificateUrl: null,
    problem: null,
    profile: null,
    retryAt: null,
    ...members,
  }) as AcmeOrder;

const challenge = (name: string, members: Partial<AcmeChallenge> = {}): AcmeChallenge => ({
  url: `${base}/challenge/${name}/${members.type ?? 'dns-01'}`,
  type: 'dns-01',
  status: 'pending',
  token: `token-${name}`,
  issuerDomainNames: [],
  problem: null,
  ...members,
});

const authorization = (name: 'a' | 'b', members: Partial<AcmeAuthorization> = {}): AcmeAuthorization => ({
  url: `${base}/authorization/${name}`,
  dnsName: `${name}.example.com`,
  isWildcard: name === 'b',
  status: 'pending',
  expires: null,
  challenges: [challenge(name, { type: 'http-01' }), challenge(name)],
  retryAt: null,
  ...members,
});

const stored = (members: Partial<StoredProgress> = {}): StoredProgress => ({
  methods: new Map([
    ['a.example.com', ['http-01', 'dns-01']],
    ['*.b.example.com', ['dns-01']],
  ]),
  responded: new Map(),
  waits: 0,
  now,
  ...members,
});

const problem = (type: AcmeProblemType, detail: string, dnsName: string | null = null): AcmeProblem => ({
  type,
  status: 403,
  detail,
  instance: null,
  dnsName,
  subproblems: [],
});

const both = [authorization('a'), authorization('b')];
const valid = [authorization('a', { status: 'valid' }), authorization('b', { status: 'valid' })];

it('reads authorizations that were not read yet', () => {
  expect(nextAcmeMove(order(), [], stored())).toEqual({
    kind: 'read_authorizations',
    urls: order().authorizationUrls,
  });
  expect(nextAcmeMove(order(), [authorization('a')], stored())).toMatchObject({
    urls: [`${base}/authorization/b`],
  });
});

it('responds with the first method by preference that the CA offers for the name', () => {
  expect(nextAcmeMove(order(), both, stored())).toMatchObject({
    kind: 'respond',
    challenges: [
      { dnsName: 'a.example.com', isWildcard: false, type: 'http-01', token: 'token-a' },
      { dnsName: 'b.example.com', isWildcard: true, type: 'dns-01', token: 'token-b' },
    ],
  });
});

it('responds once to each authorization that is not valid yet', () => {
  const oneValid = [authorization('a', { status: 'valid' }), authorization('b')];
  const { url } = challenge('b');
  expect(nextAcmeMove(order(), oneValid, stored())).toMatchObject({ challenges: [{ url }] });
  const responded = new Map([[url, inS(-5)]]);
  expect(nextAcmeMove(order(), oneValid, stored({ responded }))).toEqual({
    kind: 'wait',
    on: 'authorizations',
    until: inS(1),
  });
});

it('keeps the challenge that it responded to when the preference changes', () => {
  const responded = new Map([[challenge('a').url, inS(-5)]]);
  const [first] = both;
  const one = order({ authorizationUrls: [`${base}/authorization/a`] });
  expect(nextAcmeMove(one, [first as AcmeAuthorization], stored({ responded })).kind).toBe('wait');
});

it('waits for the challenge that it responded to also when a later look-up shows no method for the name', () => {
  const { url } = challenge('a', { type: 'dns-persist-01' });
  const persistent = challenge('a', { type: 'dns-persist-01', token: null });
  const one = order({ authorizationUrls: [`${base}/authorization/a`] });
  const progress = stored({
    methods: new Map([['a.example.com', []]]),
    responded: new Map([[url, inS(-5)]]),
  });
  const pending = authorization('a', { challenges: [persistent, challenge('a')] });
  expect(nextAcmeMove(one, [pending], progress)).toMatchObject({ kind: 'wait', on: 'authorizations' });
});

it('responds again to a challenge that the CA has left pending for over ten minutes', () => {
  const responded = new Map(both.flatMap(({ challenges }) => challenges.map(({ url }) => [url, inS(-601)])));
  expect(nextAcmeMove(order(), both, stored({ responded }))).toMatchObject({ kind: 'respond' });
});

it('waits until the latest Retry-After of the CA; else longer each time, up to a minute', () => {
  const responded = new Map(both.flatMap(({ challenges }) => challenges.map(({ url }) => [url, now])));
  const said = [authorization('a', { retryAt: inS(3) }), authorization('b', { retryAt: inS(30) })];
  expect(nextAcmeMove(order(), said, stored({ responded }))).toMatchObject({ until: inS(30) });
  const past = [authorization('a', { retryAt: inS(-3) }), authorization('b')];
  expect(nextAcmeMove(order(), past, stored({ responded }))).toMatchObject({ until: inS(1) });
  const pauses = [0, 1, 5, 6, 1_000].map((waits) =>
    nextAcmeMove(order(), both, stored({ responded, waits })),
  );
  expect(pauses).toMatchObject([1, 2, 32, 60, 60].map((seconds) => ({ until: inS(seconds) })));
});

it('waits for the order when every authorization is valid and the order is still pending', () => {
  expect(nextAcmeMove(order(), valid, stored())).toMatchObject({ kind: 'wait', on: 'order' });
});

it('finalizes when ready, waits while processing, downloads when valid, with any authorizations', () => {
  for (const known of [[], both, valid]) {
    expect(nextAcmeMove(order({ status: 'ready' }), known, stored())).toMatchObject({ kind: 'finalize' });
    const processing = order({ status: 'processing', retryAt: inS(600) });
    const wait = { kind: 'wait', on: 'order', until: inS(600) };
    expect(nextAcmeMove(processing, known, stored())).toEqual(wait);
    const certificateUrl = `${base}/certificate/1`;
    const done = order({ status: 'valid', certificateUrl });
    expect(nextAcmeMove(done, known, stored())).toEqual({ kind: 'download', certificateUrl });
  }
});

describe('a failed order', () => {
  const invalid = [
    authorization('a', { status: 'valid' }),
    authorization('b', {
      status: 'invalid',
      challenges: [challenge('b', { status: 'invalid', problem: problem('dns', 'NXDOMAIN looking up TXT') })],
    }),
  ];

  it('reads the authorizations first, to find the failed name', () => {
    expect(nextAcmeMove(order({ status: 'invalid' }), [], stored()).kind).toBe('read_authorizations');
  });

  it('reports the name and the reason', () => {
    expect(nextAcmeMove(order({ status: 'invalid' }), invalid, stored())).toMatchObject({
      kind: 'failed',
      names: [
        {
          dnsName: '*.b.example.com',
          reason: 'dns',
          saying: 'NXDOMAIN looking up TXT',
        },
      ],
    });
  });

  it('fails as soon as one authorization fails, while the order is still pending', () => {
    expect(nextAcmeMove(order(), invalid, stored()).kind).toBe('failed');
  });

  it("also reads names from the order's subproblems", () => {
    const whole = {
      ...problem('compound', 'several'),
      subproblems: [problem('caa', 'CAA forbids it', 'a.example.com')],
    };
    expect(nextAcmeMove(order({ status: 'invalid', problem: whole }), valid, stored())).toMatchObject({
      names: [{ dnsName: 'a.example.com', reason: 'caa', saying: 'CAA forbids it' }],
      reason: 'compound',
    });
  });

  it('reports that the CA offers no method that is set up for the name', () => {
    const methods = new Map([['a.example.com', ['dns-01' as const]]]);
    expect(nextAcmeMove(order(), both, stored({ methods }))).toMatchObject({
      kind: 'failed',
      names: [{ dnsName: '*.b.example.com', reason: 'no_challenge', saying: '' }],
    });
  });

  it.each(['expired', 'revoked', 'deactivated'] as const)('reports that an authorization is %s', (status) => {
    const authorizations = [authorization('a', { status }), authorization('b')];
    expect(nextAcmeMove(order(), authorizations, stored())).toMatchObject({
      kind: 'failed',
      names: [{ dnsName: 'a.example.com', reason: `approval_${status}`, saying: '' }],
    });
  });

  it.each(['pending', 'ready'] as const)('includes one that expired while %s', (status) => {
    const lapsed = order({ status, expires: now });
    expect(nextAcmeMove(lapsed, both, stored())).toMatchObject({
      kind: 'failed',
      names: [],
      reason: 'lapsed',
    });
  });
});
