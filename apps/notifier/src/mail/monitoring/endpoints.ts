import { maxEndpointsInMail, type MonitoringMailFacts } from '@certwright/delivery';
import type { EndpointFinding, FindingCode } from '@certwright/endpoint-checks';
import { type Block, instantOf, itemList, type Letter, paragraph, type Part, quote } from '../letter';
import type { EndpointReport, EndpointsSubject } from './monitoring-subjects';

type Occasion = MonitoringMailFacts['monitoring-endpoints']['occasion'];

/** Addresses of a finding that are listed; further ones are counted. */
const maxAddresses = 8;

/** Problems of endpoints, and those that are gone. */
export function endpointsLetter(subject: EndpointsSubject, occasion: Occasion): Letter {
  const { accountName, reports } = subject;
  const shown = reports.slice(0, maxEndpointsInMail);
  const problems = shown.filter(({ kind }) => kind === 'problem');
  const recovered = shown.filter(({ kind }) => kind === 'recovered');
  return {
    subject: subjectOf(problems, recovered, occasion),
    blocks: [
      ...(problems.length > 0
        ? [
            paragraph(
              'Checks of the endpoints of the account ',
              quote(accountName),
              ' found problems. Each was confirmed by several checks where that is possible.',
            ),
            ...problems.flatMap(problemBlocks),
          ]
        : []),
      ...(recovered.length > 0
        ? [
            paragraph(
              problems.length > 0 ? 'These problems are gone:' : 'These problems of the account ',
              ...(problems.length > 0 ? [] : [quote(accountName), ' are gone:']),
            ),
            itemList(recovered.flatMap(recoveredItems)),
          ]
        : []),
      paragraph('GET /api/v3/monitoring/endpoints shows what each address presents.'),
      paragraph(
        'To get no mail about an endpoint, set "muted" to true with POST /api/v3/monitoring/endpoints/{dns_name}. To get a mail per day or none at all, set "mail" to {"endpoints": "digest"} or {"endpoints": "off"} with POST /api/v3/monitoring/settings.',
      ),
    ],
  };
}

function subjectOf(
  problems: readonly EndpointReport[],
  recovered: readonly EndpointReport[],
  occasion: Occasion,
): readonly Part[] {
  const prefix = occasion === 'digest' ? 'Daily digest: ' : '';
  const [first] = problems;
  if (first === undefined) {
    const [gone] = recovered;
    if (gone === undefined) throw new TypeError('a mail without reports');
    return recovered.length === 1
      ? [`${prefix}Recovered: `, quote(gone.dnsName)]
      : [`${prefix}${recovered.length} endpoints recovered, the first is `, quote(gone.dnsName)];
  }
  if (problems.length > 1)
    return [`${prefix}${problems.length} endpoints have problems, the first is `, quote(first.dnsName)];
  const [finding] = first.findings;
  const what = finding === undefined ? 'it has a problem' : texts[finding.code].title;
  return [prefix, quote(first.dnsName), `: ${what}`];
}

function problemBlocks({ dnsName, findings }: EndpointReport): readonly Block[] {
  return [
    paragraph(quote(dnsName), ':'),
    itemList(
      findings.flatMap((finding) => {
        const { title, whatToDo } = texts[finding.code];
        return [
          [
            ...placeOf(finding),
            title,
            ...detailOf(finding),
            `. Since ${instantOf(new Date(finding.since))}. ${whatToDo}`,
          ],
        ];
      }),
    ),
  ];
}

function recoveredItems({ dnsName, findings, reportedAt }: EndpointReport): (readonly Part[])[] {
  return findings.map((finding) => [
    quote(dnsName),
    ', ',
    ...placeOf(finding),
    `${texts[finding.code].title}: from ${instantOf(new Date(finding.since))} until ${instantOf(reportedAt)}`,
  ]);
}

function placeOf({ port, addresses }: EndpointFinding): readonly Part[] {
  if (port === null) return [];
  const shown = addresses.slice(0, maxAddresses);
  const more = addresses.length - shown.length;
  return [
    `port ${port}`,
    ...(shown.length === 0 ? [] : [` on ${shown.join(', ')}`]),
    ...(more > 0 ? [` and ${more} more`] : []),
    ': ',
  ];
}

/** Parameters that say more than the title; values of others are shown as data. */
function detailOf({ code, parameters }: EndpointFinding): readonly Part[] {
  const text = (name: string): string | null => {
    const value = parameters[name];
    if (value === undefined) return null;
    return typeof value === 'object' ? value.join(', ') : String(value);
  };
  const time = (name: string): string | null => {
    const value = text(name);
    const at = value === null ? Number.NaN : Date.parse(value);
    return Number.isNaN(at) ? null : instantOf(new Date(at));
  };
  switch (code) {
    case 'expired':
    case 'expiring': {
      const notAfter = time('notAfter');
      return notAfter === null ? [] : [` (valid until ${notAfter})`];
    }
    case 'not_yet_valid': {
      const notBefore = time('notBefore');
      return notBefore === null ? [] : [` (valid from ${notBefore})`];
    }
    case 'revoked': {
      const revokedAt = time('revokedAt');
      return revokedAt === null ? [] : [` (on ${revokedAt})`];
    }
    case 'wrong_name':
      return detailed(' (it has: ', text('dnsNames'));
    case 'weak':
      return detailed(' (', text('reasons') ?? text('reason'));
    case 'dangling':
      return detailed(' (', text('target'));
    default:
      return [];
  }
}

const detailed = (before: string, value: string | null): readonly Part[] =>
  value === null || value === '' ? [] : [before, quote(value), ')'];

interface FindingText {
  /** Continues "port 443 on 192.0.2.1: ". */
  readonly title: string;
  /** A sentence. */
  readonly whatToDo: string;
}

const texts = {
  expired: {
    title: 'the certificate has expired',
    whatToDo: 'Install a valid certificate, and check that the server reloads renewed ones.',
  },
  not_yet_valid: {
    title: 'the certificate is not valid yet',
    whatToDo: 'Check the clock of the server that requested it, or install a certificate that is valid.',
  },
  expiring: {
    title: 'the certificate expires soon',
    whatToDo: 'Its renewal should have happened; install the renewed certificate.',
  },
  wrong_name: {
    title: 'the certificate is for other names',
    whatToDo: 'Install a certificate for this name, and check the server name configuration (SNI).',
  },
  incomplete_chain: {
    title: 'an intermediate certificate is missing',
    whatToDo: 'Install the complete chain: some clients cannot verify the certificate without it.',
  },
  untrusted: {
    title: 'the certificate is not issued by a trusted CA',
    whatToDo: 'Install a certificate of a public CA with its chain.',
  },
  self_signed: {
    title: 'the certificate is self-signed',
    whatToDo: 'Install a certificate of a public CA with its chain.',
  },
  weak: {
    title: 'the certificate or the connection is weak',
    whatToDo: 'Use RSA with 2048 bits or more, or P-256, P-384 or P-521, SHA-256, and TLS 1.2 or later.',
  },
  revoked: {
    title: 'the certificate is revoked',
    whatToDo: 'Replace it, with a new key if the key was compromised.',
  },
  not_current: {
    title: 'a newer certificate of your order is not installed',
    whatToDo: 'Install it and reload the server.',
  },
  unknown_key: {
    title:
      'a valid certificate is served that you do not know and that is in no Certificate Transparency log',
    whatToDo:
      'If it is not yours, somebody may intercept connections: check the DNS records and the servers. If it is, authorize it with POST /api/v3/monitoring/known_certs.',
  },
  addresses_differ: {
    title: 'the addresses present different certificates',
    whatToDo: 'Install the same certificate on each server.',
  },
  dangling: {
    title: 'a CNAME record leads to a name that does not exist',
    whatToDo: 'Remove the record: the next owner of its target can serve this name.',
  },
  unreachable: {
    title: 'no server can be reached with TLS',
    whatToDo: 'Check that the server runs, and that its firewall allows connections from everywhere.',
  },
} as const satisfies Record<FindingCode, FindingText>;

/** To the operator. */
export function endpointsHeldLetter({
  since,
  countedFrom,
  checked,
  bad,
}: MonitoringMailFacts['monitoring-endpoints-held']): Letter {
  const at = (iso: string) => instantOf(new Date(iso));
  return {
    subject: ['Reports about endpoints are held back'],
    blocks: [
      paragraph(
        `Since ${at(since)}, no account is notified of problems of its endpoints: of ${checked} endpoints that were checked since ${at(countedFrom)}, ${bad} turned bad. More than a tenth is rather a problem of the platform than of that many servers.`,
      ),
      paragraph(
        'Check the network and the DNS resolver of the hosts that run prober, and the clock of the platform.',
      ),
      paragraph(
        'This ends by itself when the share is below a tenth again. Only problems that still exist then are reported. If the servers are in fact at fault, end it with: npm run admin -- monitoring endpoints release',
      ),
    ],
  };
}
