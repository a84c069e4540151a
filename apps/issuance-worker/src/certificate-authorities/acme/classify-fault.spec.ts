import { AcmeFault } from '../../acme';
import type { AcmeProblem } from '../../acme';
import type { Refusal } from '../certificate-authority';
import { joinRefusals } from '../join-refusals';
import { classifyFault, type FaultContext } from './classify-fault';
import { limitReachedBy } from './limit-reached';
import { waitsSince } from './order-challenges';
import { readGrant } from './persistent-records';

const now = new Date('2026-11-20T12:00:00Z');
const later = new Date(now.getTime() + 7_000_000);

const problem = (type: AcmeProblem['type'], status = 400): AcmeFault =>
  new AcmeFault('problem', 'said', {
    status,
    problem: { type, status, detail: '', instance: null, dnsName: null, subproblems: [] },
  });
const limited = (status: number) => new AcmeFault('rate_limited', 'later', { status, retryAt: later });
const lost = new AcmeFault('unreachable', 'nothing');
const context = (also: Partial<FaultContext> = {}): FaultContext => ({
  stage: 'open',
  operation: 'order',
  failures: 0,
  stalledBefore: false,
  hasOthers: true,
  now,
  ...also,
});

describe('an error in an exchange about an order', () => {
  it.each<[string, AcmeFault, Partial<FaultContext>, object]>([
    ['nothing is known of it yet', lost, { stage: 'wanted' }, { kind: 'stalled', leaves: true }],
    [
      'a quota, before there is an order',
      limited(429),
      { stage: 'wanted' },
      { kind: 'elsewhere', until: later },
    ],
    [
      'overload, before there is an order',
      limited(503),
      { stage: 'wanted' },
      { kind: 'stalled', leaves: true },
    ],
    ['a quota, later', limited(429), { stage: 'finalized' }, { kind: 'wait', until: later }],
    [
      'a quota for an open order, for a long time',
      limited(429),
      {},
      { kind: 'elsewhere', code: 'rate_limited', until: later },
    ],
    [
      'a quota for an open order, without another CA',
      limited(429),
      { hasOthers: false },
      { kind: 'wait', until: later },
    ],
    ['no response about an open order', lost, {}, { kind: 'stalled', leaves: false }],
    [
      'no response about an open order, again',
      lost,
      { stalledBefore: true },
      { kind: 'stalled', leaves: true },
    ],
    [
      'no response again, without another CA',
      lost,
      { stalledBefore: true, hasOthers: false },
      { kind: 'stalled', leaves: false },
    ],
    [
      'no response after finalize, ever',
      lost,
      { stage: 'finalized', stalledBefore: true },
      { kind: 'stalled', leaves: false },
    ],
    [
      'a refusal of the CSR',
      problem('badCSR'),
      { stage: 'finalized', operation: 'finalize' },
      { kind: 'over', final: true },
    ],
    [
      'CAA at the end',
      problem('caa', 403),
      { stage: 'finalized', operation: 'finalize' },
      { kind: 'elsewhere', code: 'caa_forbids' },
    ],
    ['a refusal to show a finalized order', problem('malformed'), { stage: 'finalized' }, { kind: 'resume' }],
    [
      'a conflict about a challenge',
      problem('malformed', 409),
      { operation: 'respond' },
      { kind: 'stalled', leaves: false },
    ],
    [
      'a refusal of a response to a challenge',
      problem('malformed'),
      { operation: 'respond' },
      { kind: 'resume' },
    ],
    ['an order that is gone', problem('malformed', 404), {}, { kind: 'over', final: false }],
    [
      'a certificate that is not there',
      problem('malformed', 404),
      { stage: 'finalized', operation: 'certificate' },
      { kind: 'resume' },
    ],
    [
      'the same, again and again',
      problem('malformed', 404),
      { stage: 'finalized', operation: 'certificate', failures: 3 },
      { kind: 'certificate_lost' },
    ],
    [
      'a chain that is none',
      new AcmeFault('not_acme', 'x', { lasting: true }),
      { stage: 'finalized', operation: 'certificate' },
      { kind: 'unusable' },
    ],
    [
      'something else than a chain, which may be another the next time',
      new AcmeFault('not_acme', 'x'),
      { stage: 'finalized', operation: 'certificate' },
      { kind: 'stalled', leaves: false },
    ],
    ['a finalized order that is gone', problem('malformed', 404), { stage: 'finalized' }, { kind: 'resume' }],
    [
      'the same, again and again',
      problem('malformed', 404),
      { stage: 'finalized', failures: 3 },
      { kind: 'over' },
    ],
    [
      'a page that is not found at finalize',
      new AcmeFault('not_acme', 'x', { status: 404 }),
      { stage: 'finalized', operation: 'finalize' },
      { kind: 'resume' },
    ],
    [
      'a quota that is said to be over at once',
      new AcmeFault('rate_limited', 'later', { status: 429, retryAt: now }),
      {},
      { kind: 'wait', until: new Date(now.getTime() + 1_000) },
    ],
    [
      'a page of a proxy in its place',
      new AcmeFault('not_acme', 'x', { status: 502 }),
      { stage: 'finalized', operation: 'certificate' },
      { kind: 'stalled', leaves: false },
    ],
  ])('%s', (_, fault, also, expected) => expect(classifyFault(fault, context(also))).toMatchObject(expected));
});

describe('refusals of all CAs of a product', () => {
  const no = (code: Refusal['error']['code'], also: Partial<Refusal> = {}): Refusal => ({
    authority: code,
    error: { code, outcome: { code: 'ca_attempt_ended', authority: code } },
    until: null,
    final: false,
    ...also,
  });

  it('of one CA keep its outcome', () => {
    expect(joinRefusals([no('caa_forbids')])).toEqual({
      kind: 'refused',
      error: no('caa_forbids').error,
      until: null,
      final: false,
      waitsFor: [],
      stalled: false,
    });
  });

  it('wait for the first limit that resets', () => {
    const soon = new Date(now.getTime() + 1);
    const limits = [
      no('rate_limited', { until: later }),
      no('rate_limited', { until: soon }),
      no('caa_forbids'),
    ];
    expect(joinRefusals(limits)).toMatchObject({
      error: { code: 'rate_limited' },
      until: soon,
      waitsFor: [],
    });
  });

  it('are retried after the usual back-off when one of them may change, and not later than a limit resets', () => {
    const limit = no('rate_limited', { until: later });
    expect(joinRefusals([no('caa_forbids'), limit])).toMatchObject({ until: later, backsOff: true });
    expect(joinRefusals([limit, no('caa_forbids')])).toMatchObject({ until: later, backsOff: true });
    expect(joinRefusals([limit, no('ca_rejected', { final: true })]).backsOff).toBeUndefined();
    const unused = no('product_unavailable');
    const error = { ...unused.error, outcome: { code: 'ca_not_in_use', authority: 'x' } } as const;
    expect(joinRefusals([{ ...unused, error }, limit]).backsOff).toBeUndefined();
  });

  it('wait for a CA that is down, and are due when a limit resets, however often the CA is probed until then', () => {
    const soon = new Date(now.getTime() + 1);
    const down = no('ca_unavailable', { until: soon, unavailable: 'down' });
    expect(joinRefusals([no('rate_limited', { until: later }), down, no('caa_forbids')])).toMatchObject({
      error: {
        code: 'ca_unavailable',
        outcome: {
          code: 'cas_refused',
          refusals: [no('rate_limited'), down, no('caa_forbids')].map(({ authority, error }) => ({
            authority,
            outcome: error.outcome,
          })),
        },
        keepsDueTime: true,
      },
      until: later,
      backsOff: true,
      waitsFor: ['ca_unavailable'],
    });
    const limit = no('rate_limited', { until: new Date(now.getTime()) });
    expect(joinRefusals([down, limit])).toMatchObject({
      error: { code: 'rate_limited', keepsDueTime: true },
      until: now,
      waitsFor: ['ca_unavailable'],
    });
    // Another CA may succeed before this one is up.
    expect(joinRefusals([down, no('caa_forbids')])).toMatchObject({
      error: { keepsDueTime: true },
      until: null,
      waitsFor: ['ca_unavailable'],
    });
    const final = joinRefusals([down, no('ca_rejected', { final: true })]);
    expect(final).toMatchObject({ until: soon, waitsFor: ['ca_unavailable'] });
    expect(final.error.keepsDueTime).toBeUndefined();
  });

  it('are retried soon when a CA has just failed', () => {
    const stalled = no('ca_unavailable', { unavailable: 'stalled' });
    const down = no('ca_unavailable', { until: later, unavailable: 'down' });
    expect(joinRefusals([down, stalled, no('rate_limited', { until: later })])).toMatchObject({
      stalled: true,
      until: null,
      waitsFor: [],
    });
  });

  it('wait no longer for the Retry-After of a failing CA than for the limit of another one', () => {
    const soon = new Date(now.getTime() + 10_000);
    const stalled = no('ca_unavailable', { unavailable: 'stalled', until: later });
    expect(joinRefusals([stalled, no('rate_limited', { until: soon })])).toMatchObject({
      stalled: true,
      until: soon,
    });
    expect(joinRefusals([stalled, { ...stalled, until: null }])).toMatchObject({
      stalled: true,
      until: null,
    });
  });

  it('are final only when all are', () => {
    const final = no('ca_rejected', { final: true });
    expect(joinRefusals([final, final]).final).toBe(true);
    expect(joinRefusals([final, no('caa_forbids')])).toMatchObject({
      final: false,
      error: { code: 'caa_forbids' },
    });
  });
});

describe('the limit that a CA reports', () => {
  const limit = { count: 1, perS: 1 };
  const limits = {
    newOrders: limit,
    perRegisteredDomain: limit,
    perNameSet: limit,
    failedAuthorizations: limit,
  };
  const names = ['www.example.com', '*.example.net'];
  it.each([
    ['too many new orders (300) from this account in the last 3h0m0s', 'newOrders', ''],
    [
      'too many certificates (50) already issued for "example.com" in the last 168h0m0s',
      'perRegisteredDomain',
      'example.com',
    ],
    [
      'too many failed authorizations (5) for "example.net" in the last 1h0m0s',
      'failedAuthorizations',
      'example.net',
    ],
    ['too many certificates (5) already issued for this exact set of identifiers', 'perNameSet', null],
    ['something else', 'perNameSet', null],
  ])('%s', (detail, kind, key) => {
    const need = limitReachedBy(detail, names, limits);
    expect(need?.kind).toBe(kind);
    if (key !== null) expect(need?.key).toBe(key);
  });

  it('is null when the operator configured none', () =>
    expect(limitReachedBy('new orders', names, {})).toBeNull());
});

it.each([
  [0, 0],
  [1, 0],
  [2, 1],
  [5, 2],
  [600, 9],
])('%i s after something was done last, the pause is 2 to the %i s', (seconds, waits) =>
  expect(waitsSince(now, new Date(now.getTime() + seconds * 1_000))).toBe(waits),
);

describe('a dns-persist-01 record', () => {
  it('has issuer, account, policy and expiry', () =>
    expect(
      readGrant('CA.example.; accounturi=https://ca.example/a/1; policy=wildcard; persistUntil=1800000000'),
    ).toEqual({
      issuer: 'ca.example',
      accountUri: 'https://ca.example/a/1',
      wildcard: true,
      until: new Date(1_800_000_000_000),
    }));

  it.each([
    '',
    'ca.example',
    'ca.example; accounturi=x; accounturi=y',
    'ca.example; accounturi=x; persistUntil=soon',
  ])('%j is invalid', (text) => expect(readGrant(text)).toBeNull());
});
