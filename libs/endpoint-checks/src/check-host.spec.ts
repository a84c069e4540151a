import { Forge, type Forged, type ForgedParts } from '@certwright/testing';
import { CaKeys } from './ca-keys';
import { type CheckContext, checkHost, type HostCheck, type LeafFacts } from './check-host';
import type { AddressLook, LookUp, NotPresentedReason } from './look';
import { ReadLook } from './read-look';

const forge = new Forge();
const dayMs = 86_400_000;
const host = 'www.example.com';
let root: Forged;
let intermediate: Forged;
let good: Forged;

beforeAll(() => {
  root = forge.make({ isCa: true, days: 3_000 });
  intermediate = forge.make({ by: root, isCa: true, days: 2_000 });
  good = leaf();
});
afterAll(() => forge.dispose());

const leaf = (parts: ForgedParts = {}) => forge.make({ by: intermediate, dnsNames: [host], ...parts });

interface Given {
  readonly after?: number;
  readonly version?: string;
  readonly context?: Partial<CheckContext>;
  readonly known?: readonly Forged[];
}

const loggedAndUnknown: LeafFacts = { isLogged: true, isKnown: false, revokedAt: null };

function contextOf({ after = 1, context, known = [] }: Given, leaves: readonly string[]): CheckContext {
  return {
    now: new Date(Date.now() + after * dayMs),
    trust: {
      roots: CaKeys.ofCertificates([root.der]),
      intermediates: CaKeys.ofCertificates(known.map(({ der }) => der)),
    },
    leaves: new Map(leaves.map((sha256) => [sha256, loggedAndUnknown])),
    current: [],
    notCurrentAfterMs: dayMs,
    ...context,
  };
}

/** What each address presents: certificates, or why there are none. */
function check(
  presented: Readonly<Record<string, readonly Forged[] | NotPresentedReason>>,
  given: Given = {},
): HostCheck {
  const certificates: string[] = [];
  const addresses = Object.entries(presented).map(([address, what]): AddressLook => {
    if (typeof what === 'string')
      return { address, port: 443, result: { kind: 'not_presented', reason: what, problem: 'It failed.' } };
    const chain = what.map(({ der }) => certificates.push(der.toString('base64')) - 1);
    const tls = { version: given.version ?? 'TLSv1.3', cipher: 'TLS_AES_128_GCM_SHA256', httpStatus: null };
    return { address, port: 443, result: { kind: 'presented', chain, ...tls } };
  });
  const look = {
    hosts: [{ host, lookUp: { kind: 'found' } as const, addresses, omitted: 0 }],
    certificates,
  };
  const read = new ReadLook(look);
  return checkHost(
    read,
    look.hosts[0]!,
    contextOf(
      given,
      read.leaves().map(({ sha256 }) => sha256),
    ),
  );
}

const codes = ({ findings }: HostCheck) => findings.map(({ code }) => code);
const codesOf = (certificates: readonly Forged[], given?: Given) =>
  codes(check({ '192.0.2.1': certificates }, given));
const parametersOf = (certificates: readonly Forged[], given?: Given) =>
  check({ '192.0.2.1': certificates }, given).findings.map(({ parameters }) => parameters);

describe('a presented certificate', () => {
  it('is right', () => {
    const { outcome, findings, undecidedPorts, served } = check({ '192.0.2.1': [good, intermediate] });
    expect([outcome, findings, undecidedPorts]).toEqual(['served', [], []]);
    expect(served).toEqual([
      {
        ...{ address: '192.0.2.1', port: 443, httpStatus: null, problem: null },
        ...{ version: 'TLSv1.3', cipher: 'TLS_AES_128_GCM_SHA256', chainSha256: [intermediate.sha256] },
        certificate: expect.objectContaining({ sha256: good.sha256, dnsNames: [host] }),
      },
    ]);
  });

  it('expires, in two steps', () => {
    const steps = [70, 74.9, 75.1, 84.9, 85.1, 89.9, 90.1].map((after) =>
      check({ '192.0.2.1': [good, intermediate] }, { after }).findings.map(({ code, level }) => [
        code,
        level,
      ]),
    );
    // Of 90 days, a sixth is 15; 14 is less. A third of 14 days is 4.67.
    expect(steps).toEqual([
      [],
      [],
      [],
      [['expiring', 0]],
      [['expiring', 0]],
      [['expiring', 1]],
      [['expired', 0]],
    ]);
    const short = leaf({ days: 6 });
    expect([4.9, 5.1, 5.6, 5.7].map((after) => codesOf([short, intermediate], { after }))).toEqual([
      [],
      ['expiring'],
      ['expiring'],
      ['expiring'],
    ]);
  });

  it('is not valid yet', () =>
    expect(codesOf([good, intermediate], { after: -1 })).toEqual(['not_yet_valid', 'untrusted']));

  it.each<[readonly string[], boolean]>([
    [['WWW.Example.COM'], true],
    [['*.example.com'], true],
    [['example.com', 'other.example.com'], false],
    [['*.www.example.com'], false],
    [['*.com'], false],
    [['w*.example.com'], false],
    [[], false],
  ])('with the names %j covers the host: %s', (dnsNames, covers) => {
    expect(codesOf([leaf({ dnsNames, name: host }), intermediate])).toEqual(covers ? [] : ['wrong_name']);
  });

  it('has a chain', () => {
    const other = forge.make({ isCa: true });
    const stranger = leaf({ by: other });
    const alone = leaf({ by: undefined });
    expect(codesOf([good], { known: [intermediate] })).toEqual(['incomplete_chain']);
    expect(codesOf([good, other], { known: [intermediate] })).toEqual(['incomplete_chain']);
    expect(codesOf([good])).toEqual(['untrusted']);
    expect(codesOf([stranger, other], { known: [intermediate] })).toEqual(['untrusted']);
    expect(codesOf([alone])).toEqual(['self_signed']);
    expect(codesOf([good, other, root, intermediate])).toEqual([]);
    expect(codesOf([leaf({ usage: 'clientAuth' }), intermediate])).toEqual(['untrusted']);
  });

  it('is weak', () => {
    const weak = [
      parametersOf([leaf({ key: 'rsa1024' }), intermediate]),
      parametersOf([leaf({ key: 'p224' }), intermediate]),
      parametersOf([leaf({ digest: 'sha1' }), intermediate]),
      parametersOf([good, intermediate], { version: 'TLSv1' }),
    ];
    expect(weak).toEqual(
      ['RSA 1024', 'P-224', 'ecdsa-with-SHA1', 'TLSv1'].map((reason) => [{ reasons: [reason] }]),
    );
  });

  it('is revoked', () => {
    const revokedAt = new Date();
    const leaves = new Map([[good.sha256, { ...loggedAndUnknown, revokedAt }]]);
    expect(parametersOf([good, intermediate], { context: { leaves } })).toEqual([
      { revokedAt: revokedAt.toISOString() },
    ]);
  });

  it('is older than the one of an order, after the grace time', () => {
    const newer = (issuedAt: number, notBefore = 0.5) => ({
      context: {
        current: [
          {
            sha256: root.sha256,
            notBefore: new Date(Date.now() + notBefore * dayMs),
            issuedAt: new Date(Date.now() + issuedAt * dayMs),
          },
        ],
      },
      after: 3,
    });
    expect(codesOf([good, intermediate], newer(1))).toEqual(['not_current']);
    expect(codesOf([good, intermediate], newer(2.5))).toEqual([]);
    expect(codesOf([good, intermediate], newer(1, -1))).toEqual([]);
    const [one] = newer(1).context.current;
    expect(
      codesOf([good, intermediate], {
        context: { current: [one!, { ...one!, sha256: good.sha256 }] },
        after: 3,
      }),
    ).toEqual([]);
  });

  it('is neither known nor logged', () => {
    const facts = (isLogged: boolean, isKnown: boolean) => ({
      context: { leaves: new Map([[good.sha256, { isLogged, isKnown, revokedAt: null }]]) },
    });
    expect(codesOf([good, intermediate], facts(false, false))).toEqual(['unknown_key']);
    expect(codesOf([good, intermediate], facts(true, false))).toEqual([]);
    expect(codesOf([good, intermediate], facts(false, true))).toEqual([]);
    expect(codesOf([good, intermediate], { context: { leaves: new Map() } })).toEqual([]);
    // Anybody can make one that visitors refuse.
    expect(codesOf([good], facts(false, false))).toEqual(['untrusted']);
  });

  it('cannot be read', () => {
    const garbage = { ...good, der: Buffer.from('no certificate') };
    expect(parametersOf([garbage, intermediate])).toEqual([{ reason: 'unreadable' }]);
    expect(codesOf([good, garbage, intermediate])).toEqual([]);
  });
});

describe('addresses', () => {
  it('share a finding', () => {
    const { findings } = check({
      '192.0.2.1': [good],
      '2001:db8::1': [good, intermediate],
      '192.0.2.3': [good],
    });
    expect(findings.map(({ code, addresses }) => [code, addresses])).toEqual([
      ['untrusted', ['192.0.2.1', '192.0.2.3']],
    ]);
  });

  it('differ', () => {
    const other = leaf();
    expect(codes(check({ '192.0.2.1': [good, intermediate], '192.0.2.2': [other, intermediate] }))).toEqual([
      'addresses_differ',
    ]);
    expect(codes(check({ '192.0.2.1': [good, intermediate], '192.0.2.2': 'connect' }))).toEqual([
      'addresses_differ',
    ]);
  });

  it('are unreachable when none presents a certificate', () => {
    const { outcome, findings, undecidedPorts } = check({ '192.0.2.1': 'connect', '192.0.2.2': 'too_large' });
    expect([outcome, undecidedPorts]).toEqual(['unreachable', [443]]);
    expect(findings).toMatchObject([{ code: 'unreachable', addresses: ['192.0.2.1', '192.0.2.2'] }]);
  });

  it('say nothing while they are busy', () => {
    expect(check({ '192.0.2.1': 'busy' })).toMatchObject({ outcome: 'unknown', findings: [] });
    expect(check({ '192.0.2.1': 'busy', '192.0.2.2': 'connect' })).toMatchObject({
      outcome: 'unknown',
      findings: [],
    });
    const some = check({ '192.0.2.1': 'internal', '192.0.2.2': [good, intermediate] });
    expect(some).toMatchObject({ outcome: 'served', findings: [], undecidedPorts: [443] });
  });
});

it.each<[LookUp, Partial<HostCheck>]>([
  [
    { kind: 'no_name' },
    { outcome: 'gone', findings: [expect.objectContaining({ code: 'unreachable', port: null })] },
  ],
  [{ kind: 'no_address' }, { outcome: 'gone', findings: [expect.objectContaining({ code: 'unreachable' })] }],
  [
    { kind: 'dangling', target: 'gone.example.net' },
    {
      outcome: 'gone',
      findings: [expect.objectContaining({ code: 'dangling', parameters: { target: 'gone.example.net' } })],
    },
  ],
  [
    { kind: 'failed', failure: 'timeout' },
    { outcome: 'unknown', findings: [] },
  ],
])('a look-up with %j', (lookUp, expected) => {
  const look = { hosts: [{ host, lookUp, addresses: [], omitted: 0 }], certificates: [] };
  expect(checkHost(new ReadLook(look), look.hosts[0]!, contextOf({}, []))).toMatchObject(expected);
});

describe('paths', () => {
  it('are those that OpenSSL finds', () => {
    // Two generations, cross-signed: the second intermediate has the name and key of the first and another issuer.
    const other = forge.make({ isCa: true });
    const cross = forge.make({ by: other, isCa: true, key: intermediate, name: nameOf(intermediate) });
    const below = forge.make({ by: intermediate, isCa: true });
    const noCa = leaf();
    const leaves = [good, leaf({ by: below }), leaf({ by: noCa }), leaf({ by: other }), root];
    const pool = [intermediate, cross, below, noCa, other, root];
    const differences: unknown[] = [];
    let trusted = 0;
    for (const [nth, one] of leaves.entries())
      for (let subset = 0; subset < 2 ** pool.length; subset += 5) {
        const presented = pool.filter((_, bit) => (subset >> bit) % 2 === 1);
        const byOpenssl = forge.verifies(one, presented, [root]);
        const ours = codesOf([one, ...presented]).every(
          (code) => code !== 'untrusted' && code !== 'self_signed',
        );
        if (byOpenssl) trusted += 1;
        if (ours !== byOpenssl) differences.push({ nth, subset, byOpenssl });
      }
    expect([differences, trusted > 5]).toEqual([[], true]);
  });

  it('cost little, whatever is presented', () => {
    const weakCas: Forged[] = [forge.make({ isCa: true, name: 'Any', digest: 'sha1' })];
    while (weakCas.length < 40) {
      const der = Buffer.from(weakCas[0]!.der);
      // Another serial number; signatures by SHA-1 are not verified.
      der[14] = weakCas.length;
      weakCas.push({ ...weakCas[0]!, der });
    }
    const victim = leaf({ by: weakCas[0]!, digest: 'sha1' });
    const before = performance.now();
    expect(codesOf([victim, ...weakCas])).toEqual(['untrusted', 'weak']);
    expect(performance.now() - before).toBeLessThan(2_000);
  });
});

const nameOf = ({ file }: Forged): string => file.replace(/^.*\/|\.pem$/g, '');
