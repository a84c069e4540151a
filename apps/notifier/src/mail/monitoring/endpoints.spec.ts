import { maxEndpointsInMail } from '@certwright/delivery';
import {
  type EndpointFinding,
  type FindingCode,
  findingCodes,
  type TrackedFinding,
} from '@certwright/endpoint-checks';
import type { Letter } from '../letter';
import { renderHtml, renderSubject, renderText } from '../render';
import { endpointsHeldLetter, endpointsLetter } from './endpoints';
import type { EndpointReport } from './monitoring-subjects';

const finding = (code: FindingCode, differences: Partial<TrackedFinding> = {}): TrackedFinding => ({
  code,
  port: 443,
  addresses: ['192.0.2.1', '2001:db8::1'],
  parameters: {},
  level: 0,
  since: '2026-11-20T12:00:00.000Z',
  agreeing: 3,
  missing: 0,
  reportedAt: null,
  reportedLevel: 0,
  ...differences,
});

const report = (
  kind: EndpointReport['kind'],
  findings: readonly TrackedFinding[],
  dnsName = 'www.example.com',
): EndpointReport => ({ dnsName, kind, findings, reportedAt: new Date('2026-11-21T09:30:00Z') });

const letterOf = (...reports: readonly EndpointReport[]): Letter =>
  endpointsLetter({ accountName: 'Tools & Co', reports }, 'at-once');
const textOf = (...reports: readonly EndpointReport[]) => renderText(letterOf(...reports));
const subjectOf = (...reports: readonly EndpointReport[]) => renderSubject(letterOf(...reports));

const notAfter = '2026-11-30T08:15:00.000Z';
const sha256 = 'ab'.repeat(32);

/** What a mail says about each finding, after "Port 443 on 192.0.2.1, 2001:db8::1: ". */
const texts: readonly [FindingCode, EndpointFinding['parameters'], string][] = [
  [
    ...(['expired', { notAfter }] as const),
    'the certificate has expired (it was valid until 2026-11-30 08:15 UTC). First found: 2026-11-20 12:00 UTC. Install a valid certificate, and check that the server reloads renewed ones.',
  ],
  [
    ...(['not_yet_valid', { notBefore: notAfter }] as const),
    'the certificate is not valid yet (it is valid from 2026-11-30 08:15 UTC). First found: 2026-11-20 12:00 UTC. Install a certificate that is valid now.',
  ],
  [
    ...(['expiring', { notAfter }] as const),
    'the certificate expires soon (it is valid until 2026-11-30 08:15 UTC). First found: 2026-11-20 12:00 UTC. Renew it, install the renewed certificate, and reload the server.',
  ],
  [
    ...(['wrong_name', { dnsNames: ['a.example', 'b.example'] }] as const),
    'the certificate is for other names (it has: a.example, b.example). First found: 2026-11-20 12:00 UTC. Install a certificate for this name, or check how the server selects it by server name (SNI).',
  ],
  [
    ...(['wrong_name', { dnsNames: [] }] as const),
    'the certificate is for other names. First found: 2026-11-20 12:00 UTC. Install a certificate for this name, or check how the server selects it by server name (SNI).',
  ],
  [
    ...(['incomplete_chain', {}] as const),
    'an intermediate certificate is missing. First found: 2026-11-20 12:00 UTC. Install the complete chain: some clients cannot verify the certificate without it.',
  ],
  [
    ...(['untrusted', { reason: 'no_path' }] as const),
    'the certificate is not issued by a trusted CA. First found: 2026-11-20 12:00 UTC. Install a certificate of a public CA with its chain.',
  ],
  [
    ...(['untrusted', { reason: 'no_server_auth' }] as const),
    'the certificate is not for servers. First found: 2026-11-20 12:00 UTC. Install a certificate with the extended key usage serverAuth.',
  ],
  [
    ...(['untrusted', { reason: 'unreadable' }] as const),
    'the certificate cannot be read. First found: 2026-11-20 12:00 UTC. Install a certificate of a public CA with its chain.',
  ],
  [
    ...(['self_signed', {}] as const),
    'the certificate is self-signed. First found: 2026-11-20 12:00 UTC. Install a certificate of a public CA with its chain.',
  ],
  [
    ...(['weak', { reasons: ['RSA 1024', 'TLSv1'] }] as const),
    'the certificate or the connection is weak (RSA 1024, TLSv1). First found: 2026-11-20 12:00 UTC. Use RSA with 2048 bits or more, or ECDSA on P-256, P-384 or P-521; signatures with SHA-256; and TLS 1.2 or later.',
  ],
  [
    ...(['revoked', { revokedAt: notAfter }] as const),
    'the certificate is revoked (since 2026-11-30 08:15 UTC). First found: 2026-11-20 12:00 UTC. Replace it, with a new key if the key was compromised.',
  ],
  [
    ...(['not_current', { currentSha256: sha256 }] as const),
    `a newer certificate was issued for you and is not installed (its SHA-256 is ${sha256}). First found: 2026-11-20 12:00 UTC. Install it and reload the server.`,
  ],
  [
    ...(['unknown_key', { tbsSha256: sha256, spkiSha256: sha256 }] as const),
    `a valid certificate is served that you do not know and that is not in Certificate Transparency (its tbs_sha256 is ${sha256}). First found: 2026-11-20 12:00 UTC. If it is yours, authorize it with POST /api/v3/monitoring/known_certs. If not, connections may be intercepted: check the DNS records and the servers.`,
  ],
  [
    ...(['addresses_differ', {}] as const),
    'the addresses present different certificates. First found: 2026-11-20 12:00 UTC. Install the same certificate on each server.',
  ],
  [
    ...(['dangling', { target: 'gone.example' }] as const),
    'a CNAME record leads to a name that does not exist (gone.example). First found: 2026-11-20 12:00 UTC. Delete the record: another party that registers its target can serve this name.',
  ],
  [
    ...(['unreachable', { reason: 'connect', problem: 'The connection was refused.' }] as const),
    'no server can be reached with TLS (The connection was refused). First found: 2026-11-20 12:00 UTC. Check that the server runs, and that its firewall allows connections from everywhere.',
  ],
  [
    ...(['unreachable', { reason: 'no_name' }] as const),
    'the name does not exist. First found: 2026-11-20 12:00 UTC. Publish its DNS records again, or mute it if it is no longer used.',
  ],
  [
    ...(['unreachable', { reason: 'no_address' }] as const),
    'the name has no address. First found: 2026-11-20 12:00 UTC. Publish its DNS records again, or mute it if it is no longer used.',
  ],
];

const footer = `
GET /api/v3/monitoring/endpoints shows what each address presents, and with state=failing only those with problems.

To get no mail about an endpoint, set "muted" to true with POST /api/v3/monitoring/endpoints/{dns_name}. To get a mail per day or none at all, set "mail" to {"endpoints": "digest"} or {"endpoints": "off"} with POST /api/v3/monitoring/settings.
`;

it('says what is wrong, where, since when, and what to do', () => {
  const text = textOf(report('problem', [finding('expired', { parameters: { notAfter } })]));
  expect(text)
    .toBe(`Checks of the endpoints of the account Tools & Co found problems. Three checks in a row agree, unless one is certain.

www.example.com:

  - Port 443 on 192.0.2.1, 2001:db8::1: ${texts[0]?.[2]}
${footer}`);
});

it.each(texts)('has a text for %s with %j', (code, parameters, expected) => {
  const letter = letterOf(report('problem', [finding(code, { parameters })]));
  expect(renderText(letter)).toContain(`\n  - Port 443 on 192.0.2.1, 2001:db8::1: ${expected}\n`);
  const html = renderHtml(letter).replaceAll(/<\/?(bdi|strong)>/g, '');
  expect(html).toContain(`<li>Port 443 on 192.0.2.1, 2001:db8::1: ${expected}</li>`);
  const title = expected.slice(0, expected.search(/ \(|\. First/));
  expect(renderSubject(letter)).toBe(`www.example.com: ${title}`);
});

it('has a text for every finding', () => {
  expect(new Set(texts.map(([code]) => code))).toEqual(new Set(findingCodes));
});

it('begins with what concerns the name, and counts addresses beyond eight', () => {
  const parameters = { target: 'gone.example' };
  const dangling = finding('dangling', { port: null, addresses: [], parameters });
  expect(textOf(report('problem', [dangling]))).toContain('\n  - A CNAME record leads to a name that does');
  const addresses = Array.from({ length: 11 }, (_, at) => `192.0.2.${at}`);
  const many = textOf(report('problem', [finding('self_signed', { port: 8443, addresses })]));
  expect(many).toContain('  - Port 8443 on 192.0.2.0, 192.0.2.1,');
  expect(many).toContain(', 192.0.2.7 and 3 more: the certificate is self-signed.');
});

describe('the subject', () => {
  it.each<[string, readonly EndpointReport[]]>([
    ['www.example.com: the certificate has expired', [report('problem', [finding('expired')])]],
    [
      'www.example.com: the certificate has expired, and 1 more',
      [report('problem', [finding('expired'), finding('weak')])],
    ],
    [
      'www.example.com: the certificate is self-signed, and 1 more',
      [report('problem', [finding('self_signed')]), report('problem', [finding('weak')])],
    ],
    [
      '2 endpoints have problems, the first is www.example.com',
      [
        report('problem', [finding('weak')]),
        report('problem', [finding('weak')], 'b.example'),
        report('recovered', [finding('expired')], 'c.example'),
      ],
    ],
    ['Recovered: www.example.com', [report('recovered', [finding('expired')])]],
    [
      '2 endpoints recovered, the first is www.example.com',
      [report('recovered', [finding('expired')]), report('recovered', [finding('weak')], 'b.example')],
    ],
  ])('is "%s"', (expected, reports) => {
    expect(subjectOf(...reports)).toBe(expected);
    const digest = endpointsLetter({ accountName: 'Tools & Co', reports }, 'digest');
    expect(renderSubject(digest)).toBe(`Daily digest: ${expected}`);
  });
});

it('says from when until when a problem existed', () => {
  const expired = finding('expired', { addresses: ['192.0.2.1'], parameters: { notAfter } });
  expect(textOf(report('recovered', [expired])))
    .toBe(`These problems of endpoints of the account Tools & Co are gone:

  - www.example.com, port 443 on 192.0.2.1: the certificate has expired, from 2026-11-20 12:00 UTC until 2026-11-21 09:30 UTC
${footer}`);
});

it('shows a finding by its newest report', () => {
  const expired = finding('expired');
  const weak = finding('weak');
  const gone = textOf(report('problem', [expired, weak]), report('recovered', [expired]));
  expect(gone).toContain('www.example.com:\n\n  - Port 443 on 192.0.2.1, 2001:db8::1: the certificate or');
  expect(gone).not.toContain(': the certificate has expired.');
  expect(gone).toContain(
    'are gone:\n\n  - www.example.com, port 443 on 192.0.2.1, 2001:db8::1: the certificate has',
  );
  const back = textOf(report('recovered', [expired]), report('problem', [expired]));
  expect(back).toContain(': the certificate has expired. First found');
  expect(back).not.toContain('are gone');
  const [soon, sooner] = ['2026-11-30', '2026-11-29'].map((day) => `${day}T00:00:00.000Z`);
  const twice = textOf(
    report('problem', [finding('expiring', { parameters: { notAfter: soon ?? '' } })]),
    report('problem', [finding('expiring', { level: 1, parameters: { notAfter: sooner ?? '' } })]),
  );
  expect(twice).toContain('it is valid until 2026-11-29');
  expect(twice).not.toContain('it is valid until 2026-11-30');
});

describe('what does not fit into a mail is counted', () => {
  const named = (count: number, kind: EndpointReport['kind'] = 'problem') =>
    Array.from({ length: count }, (_, at) => report(kind, [finding('weak')], `n${at}.${kind}.example`));

  it.each([
    [maxEndpointsInMail, 0, null],
    [maxEndpointsInMail + 1, 0, '1 more endpoint'],
    [maxEndpointsInMail - 1, 3, '2 more endpoints'],
  ])('%d problems and %d recovered', (problems, recovered, expected) => {
    const text = textOf(...named(problems), ...named(recovered, 'recovered'));
    expect(text.match(/^n\d+\.problem\.example:$|^ {2}- n\d+\.recovered\.example, /gm)).toHaveLength(50);
    if (expected === null) expect(text).not.toContain('does not list');
    else expect(text).toContain(`\n\nThis mail does not list ${expected}.\n`);
  });

  it('of one endpoint', () => {
    const findings = findingCodes.map((code) => finding(code));
    expect(textOf(report('problem', findings))).toContain('\n  - and 4 more\n');
    expect(textOf(report('recovered', findings))).toContain('\n  - www.example.com: and 4 more\n');
  });
});

it.each(findingCodes)('neutralizes hostile texts of %s, and limits their length', (code) => {
  const hostile = `evil\r\n\r\nDear customer,\u2028\u202e<img src=x onerror=alert(1)>\u0007=?utf-8?q?a?=${'x'.repeat(5_000)}`;
  const keys = [
    'notAfter',
    'notBefore',
    'reason',
    'revokedAt',
    'currentSha256',
    'tbsSha256',
    'target',
    'problem',
  ];
  const parameters = {
    ...Object.fromEntries(keys.map((key) => [key, hostile])),
    dnsNames: Array.from({ length: 10 }, () => hostile),
    reasons: [hostile],
  };
  const reports = (['problem', 'recovered'] as const).map((kind) =>
    report(kind, [finding(code, { parameters })], `${kind}.example`),
  );
  const letter = letterOf(...reports);
  for (const shown of [renderText(letter), renderHtml(letter), renderSubject(letter)]) {
    expect(shown).not.toMatch(/[\r\u0007\u2028\u202e]/);
    expect(shown).not.toMatch(/x{256}|\n\s*Dear customer|undefined|Invalid|NaN/);
  }
  expect(renderHtml(letter)).not.toContain('<img');
  expect(renderText(letter).length).toBeLessThan(3_000);
  expect(renderSubject(letter)).not.toContain('evil');
});

it('tells the operator why reports are held back, and what to do', () => {
  const letter = endpointsHeldLetter({
    since: '2026-11-21T09:30:00.000Z',
    countedFrom: '2026-11-21T03:30:00.000Z',
    ...{ checked: 1_200, bad: 340 },
  });
  expect(renderSubject(letter)).toBe('Reports about endpoints are held back');
  expect(renderText(letter))
    .toBe(`Since 2026-11-21 09:30 UTC, no account is notified of problems of its endpoints. Of 1200 endpoints that were checked since 2026-11-21 03:30 UTC, 340 turned bad. When more than a tenth turn bad at once, the cause is usually the platform and not the servers.

Check the network and the DNS resolver of the hosts that run prober, and the clock of the platform.

Reports are sent again when less than a twentieth are bad; only problems that still exist then are reported. If the servers are in fact the cause, send the reports now: npm run admin -- monitoring endpoints release
`);
});
