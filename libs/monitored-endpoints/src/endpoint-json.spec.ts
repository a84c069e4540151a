import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  type FindingCode,
  findingCodes,
  type ServedAddress,
  type TrackedFinding,
} from '@certwright/endpoint-checks';
import { shapeOf } from '@certwright/testing';
import { storedServed } from './endpoint-address';
import { endpointEventBody, endpointJson, type EndpointRow } from './endpoint-json';

const sha256 = 'ab'.repeat(32);

const finding = (code: FindingCode, differences: Partial<TrackedFinding> = {}): TrackedFinding => ({
  code,
  port: 443,
  addresses: ['192.0.2.1'],
  parameters: {},
  level: 0,
  since: '2026-11-20T12:00:00.123Z',
  agreeing: 3,
  missing: 0,
  reportedAt: null,
  reportedLevel: 0,
  ...differences,
});

const served = (differences: Partial<ServedAddress> = {}): ServedAddress => ({
  address: '192.0.2.1',
  port: 443,
  certificate: {
    sha256,
    tbsSha256: sha256,
    spkiSha256: sha256,
    notBefore: '2026-11-01T00:00:00.000Z',
    notAfter: '2027-01-30T00:00:00.000Z',
    dnsNames: ['www.example.com'],
  },
  chainSha256: [sha256],
  version: 'TLSv1.3',
  cipher: 'TLS_AES_128_GCM_SHA256',
  httpStatus: 200,
  problem: null,
  ...differences,
});

const row = (differences: Partial<EndpointRow> = {}): EndpointRow => ({
  dns_name: 'www.example.com',
  muted: false,
  ports: [443],
  state: 'failing',
  state_since: new Date('2026-11-20T12:20:00.5Z'),
  looked_at: new Date('2026-11-20T18:00:00Z'),
  findings: [],
  served: [],
  ...differences,
});

/** As a client receives it: without members that are undefined. */
const received = (json: unknown) => JSON.parse(JSON.stringify(json));
const shown = (...findings: readonly TrackedFinding[]) => received(endpointJson(row({ findings }))).findings;

it('has state, times without fractions, and what each address presented', () => {
  const refused = served({
    ...{ address: '2001:db8::1', certificate: null, version: null, cipher: null, httpStatus: null },
    problem: 'The connection was refused.',
  });
  const nothing = {
    sha256,
    tbsSha256: null,
    spkiSha256: null,
    notBefore: null,
    notAfter: null,
    dnsNames: [],
  };
  const unreadable = served({ port: 8443, certificate: nothing });
  expect(received(endpointJson(row({ served: [served(), refused, unreadable] })))).toEqual({
    dns_name: 'www.example.com',
    muted: false,
    ports: [443],
    state: 'failing',
    since: '2026-11-20T12:20:00Z',
    findings: [],
    addresses: [
      {
        address: '192.0.2.1',
        port: 443,
        certificate: {
          sha256,
          tbs_sha256: sha256,
          pubkey_sha256: sha256,
          not_before: '2026-11-01T00:00:00Z',
          not_after: '2027-01-30T00:00:00Z',
          dns_names: ['www.example.com'],
        },
        version: 'TLSv1.3',
        cipher: 'TLS_AES_128_GCM_SHA256',
        http_status: 200,
        problem: null,
      },
      {
        ...{ address: '2001:db8::1', port: 443, certificate: null, version: null, cipher: null },
        ...{ http_status: null, problem: 'The connection was refused.' },
      },
      {
        ...{ address: '192.0.2.1', port: 8443, version: 'TLSv1.3', cipher: 'TLS_AES_128_GCM_SHA256' },
        certificate: {
          ...{ sha256, tbs_sha256: null, pubkey_sha256: null, not_before: null, not_after: null },
          dns_names: [],
        },
        ...{ http_status: 200, problem: null },
      },
    ],
    looked_at: '2026-11-20T18:00:00Z',
  });
  expect(endpointJson(row({ looked_at: null })).looked_at).toBeNull();
});

const instant = '2026-11-19T00:00:00.000Z';
const parameters = {
  expired: [{ notAfter: instant }, { not_after: '2026-11-19T00:00:00Z' }],
  not_yet_valid: [{ notBefore: instant }, { not_before: '2026-11-19T00:00:00Z' }],
  expiring: [{ notAfter: instant }, { not_after: '2026-11-19T00:00:00Z' }],
  wrong_name: [{ dnsNames: ['a.example'] }, { dns_names: ['a.example'] }],
  incomplete_chain: [{}, {}],
  untrusted: [{ reason: 'no_path' }, { reason: 'no_path' }],
  self_signed: [{}, {}],
  weak: [{ reasons: ['RSA 1024', 'TLSv1'] }, { reasons: ['RSA 1024', 'TLSv1'] }],
  revoked: [{ revokedAt: instant }, { revoked_at: '2026-11-19T00:00:00Z' }],
  not_current: [{ currentSha256: sha256 }, { current_sha256: sha256 }],
  unknown_key: [
    { tbsSha256: sha256, spkiSha256: sha256 },
    { tbs_sha256: sha256, pubkey_sha256: sha256 },
  ],
  addresses_differ: [{}, {}],
  dangling: [{ target: 'gone.example' }, { target: 'gone.example' }],
  unreachable: [
    { reason: 'connect', problem: 'The connection was refused.' },
    { reason: 'connect', problem: 'The connection was refused.' },
  ],
} as const satisfies Record<FindingCode, readonly [TrackedFinding['parameters'], object]>;

it.each(findingCodes)('has the parameters of %s as members', (code) => {
  const [stored, members] = parameters[code];
  expect(shown(finding(code, { parameters: stored }))).toEqual([
    {
      finding: code,
      ...{ address: '192.0.2.1', port: 443, since: '2026-11-20T12:00:00Z' },
      ...{ confirmed: true, ending: false, reported_at: null },
      ...members,
    },
  ]);
});

it('has one item for each finding and address, and one without address for the name', () => {
  const both = finding('expired', { addresses: ['192.0.2.1', '2001:db8::1'] });
  const places = shown(both, finding('weak'), finding('dangling', { port: null, addresses: [] })).map(
    ({ finding: code, address, port }: Record<string, unknown>) => [code, address, port],
  );
  expect(places).toEqual([
    ['expired', '192.0.2.1', 443],
    ['expired', '2001:db8::1', 443],
    ['weak', '192.0.2.1', 443],
    ['dangling', null, null],
  ]);
});

it('says what is confirmed, reported, and no longer found', () => {
  const reportedAt = '2026-11-20T12:30:00.000Z';
  const statuses = shown(
    finding('expired', { agreeing: 2 }),
    finding('unknown_key', { agreeing: 1 }),
    finding('weak', { reportedAt, missing: 1 }),
  ).map(({ confirmed, ending, reported_at }: Record<string, unknown>) => [confirmed, ending, reported_at]);
  expect(statuses).toEqual([
    [false, false, null],
    [true, false, null],
    [true, true, '2026-11-20T12:30:00Z'],
  ]);
});

it('is the body of an event with the findings of the event alone', () => {
  const expired = finding('expired');
  const stored = row({ findings: [expired, finding('weak')], served: [served()] });
  expect(JSON.parse(endpointEventBody(stored, [expired]))).toEqual({
    ...received(endpointJson(stored)),
    findings: shown(expired),
  });
});

it('has the members of the example in the documentation', () => {
  const notifications = readFileSync(path.join(__dirname, '../../../docs/notifications.md'), 'utf8');
  const [, example = ''] = /```json\n([^`]*"dns_name"[^`]*)```/.exec(notifications) ?? [];
  const [stored] = parameters.expired;
  const expired = finding('expired', { parameters: stored });
  const body: unknown = JSON.parse(endpointEventBody(row({ served: [served()] }), [expired]));
  expect(shapeOf(JSON.parse(example))).toEqual(shapeOf(body));
});

it('keeps hostile texts as data', () => {
  const hostile = '</script>\r\n\u202e\u0007"\\\ud800';
  const certificate = {
    ...served().certificate,
    sha256,
    dnsNames: [hostile],
  } as ServedAddress['certificate'];
  const json = received(
    endpointJson(
      row({
        findings: [finding('wrong_name', { parameters: { dnsNames: [hostile] } })],
        served: [served({ certificate })],
      }),
    ),
  );
  expect(json.findings[0].dns_names).toEqual([hostile]);
  expect(json.addresses[0].certificate.dns_names).toEqual([hostile]);
});

describe('whatever servers present', () => {
  const long = '\u0007'.repeat(255);
  const names = Array.from({ length: 100 }, () => long);
  const addresses = Array.from({ length: 64 }, (_, at) => `2001:db8:ffff:ffff:ffff:ffff:ffff:${1_000 + at}`);
  const certificate = { ...served().certificate, sha256, dnsNames: names } as ServedAddress['certificate'];
  const all = addresses.map((address) => served({ address, certificate }));

  const hostile: Partial<Record<FindingCode, TrackedFinding['parameters']>> = {
    wrong_name: { dnsNames: names },
    weak: { reasons: names },
  };
  const findingsOf = (...codes: readonly FindingCode[]) =>
    [443, 8443, 993, 995].flatMap((port) =>
      codes.map((code) => finding(code, { port, addresses, parameters: hostile[code] ?? {} })),
    );

  it.each<readonly FindingCode[]>([findingCodes, ['wrong_name'], ['weak', 'wrong_name']])(
    'has less than 256 KiB, and every finding of %s …',
    (...codes) => {
      const findings = findingsOf(...codes);
      const json = endpointJson(row({ findings, served: all }));
      expect(JSON.stringify(json).length).toBeLessThan(262_144);
      const shownFindings = new Set(json.findings.map(({ finding: code, port }) => `${code} ${port}`));
      expect(shownFindings.size).toBe(findings.length);
      expect(json.findings.length).toBeLessThanOrEqual(100);
      expect(json.addresses).toHaveLength(32);
      expect(json.addresses.every((each) => each.certificate?.dns_names.length === 1)).toBe(true);
    },
  );

  it('is not larger when it is read from what is stored', () => {
    const few = all.slice(0, 3);
    const stored = storedServed(few);
    expect(stored.map((each) => each.certificate?.dnsNames.length)).toEqual([5, 5, 5]);
    expect(endpointJson(row({ served: stored }))).toEqual(endpointJson(row({ served: few })));
  });

  it('has every name of a certificate with a hundred usual ones on two addresses', () => {
    const usual = Array.from({ length: 100 }, (_, at) => `host-${at}.example.com`);
    const both = [served(), served({ address: '192.0.2.2' })].map((each) => ({
      ...each,
      certificate: each.certificate && { ...each.certificate, dnsNames: usual },
    }));
    expect(storedServed(both)).toEqual(both);
  });
});
