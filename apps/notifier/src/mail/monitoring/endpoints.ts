import { maxEndpointsInMail, type MonitoringMailFacts } from '@certwright/delivery';
import type { EndpointFinding, TrackedFinding } from '@certwright/endpoint-checks';
import { type Block, instantOf, itemList, type Letter, paragraph, type Part, quote } from '../letter';
import { findingText } from './finding-text';
import type { EndpointReport, EndpointsSubject } from './monitoring-subjects';

type Occasion = MonitoringMailFacts['monitoring-endpoints']['occasion'];

/** Addresses of a finding that are listed; further ones are counted. */
const maxAddresses = 8;

/** Findings of an endpoint that are listed; further ones are counted. */
const maxFindings = 10;

/** What an endpoint has, or no longer has. */
interface ReportedEndpoint {
  readonly dnsName: string;
  readonly findings: readonly ReportedFinding[];
}

interface ReportedFinding extends TrackedFinding {
  readonly reportedOn: Date;
}

/** Problems of endpoints, and those that are gone. */
export function endpointsLetter({ accountName, reports }: EndpointsSubject, occasion: Occasion): Letter {
  const { problems, recovered } = newestOf(reports);
  const shownProblems = problems.slice(0, maxEndpointsInMail);
  const shownRecovered = recovered.slice(0, maxEndpointsInMail - shownProblems.length);
  const more = problems.length + recovered.length - shownProblems.length - shownRecovered.length;
  return {
    subject: subjectOf(problems, recovered, occasion),
    blocks: [
      ...(shownProblems.length > 0
        ? [
            paragraph(
              'Checks of the endpoints of the account ',
              quote(accountName),
              ' found problems. Three checks in a row agree, unless one is certain.',
            ),
            ...shownProblems.flatMap(problemBlocks),
          ]
        : []),
      ...(shownRecovered.length > 0
        ? [
            paragraph('These problems of endpoints of the account ', quote(accountName), ' are gone:'),
            itemList(shownRecovered.flatMap(recoveredItems)),
          ]
        : []),
      ...(more > 0
        ? [paragraph(`This mail does not list ${more} more ${more === 1 ? 'endpoint' : 'endpoints'}.`)]
        : []),
      paragraph(
        'GET /api/v3/monitoring/endpoints shows what each address presents, and with state=failing only those with problems.',
      ),
      paragraph(
        'To get no mail about an endpoint, set "muted" to true with POST /api/v3/monitoring/endpoints/{dns_name}. To get a mail per day or none at all, set "mail" to {"endpoints": "digest"} or {"endpoints": "off"} with POST /api/v3/monitoring/settings.',
      ),
    ],
  };
}

/** By the newest report about each finding: one that is gone by now is no problem any more. */
function newestOf(
  reports: readonly EndpointReport[],
): Readonly<Record<'problems' | 'recovered', readonly ReportedEndpoint[]>> {
  const newest = new Map<string, EndpointReport & { readonly finding: TrackedFinding }>();
  for (const report of reports)
    for (const finding of report.findings) {
      const key = JSON.stringify([report.dnsName, finding.code, finding.port]);
      newest.delete(key);
      newest.set(key, { ...report, finding });
    }
  const ofKind = (kind: EndpointReport['kind']) => {
    const ofKindByName = Map.groupBy(
      [...newest.values()].filter((report) => report.kind === kind),
      ({ dnsName }) => dnsName,
    );
    return [...ofKindByName].map(([dnsName, found]) => ({
      dnsName,
      findings: found.map(({ finding, reportedAt }) => ({ ...finding, reportedOn: reportedAt })),
    }));
  };
  return { problems: ofKind('problem'), recovered: ofKind('recovered') };
}

function subjectOf(
  problems: readonly ReportedEndpoint[],
  recovered: readonly ReportedEndpoint[],
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
  const [finding, ...others] = first.findings;
  const what = finding === undefined ? 'problems' : findingText(finding).title;
  return [
    prefix,
    quote(first.dnsName),
    `: ${what}`,
    ...(others.length > 0 ? [`, and ${others.length} more`] : []),
  ];
}

function problemBlocks({ dnsName, findings }: ReportedEndpoint): readonly Block[] {
  return [
    paragraph(quote(dnsName), ':'),
    itemList([...findings.slice(0, maxFindings).map(problemItem), ...moreItems(findings)]),
  ];
}

function problemItem(finding: ReportedFinding): readonly Part[] {
  const { title, detail, whatToDo } = findingText(finding);
  const found = `First found: ${instantOf(new Date(finding.since))}.`;
  return [capitalized(`${placeOf(finding)}${title}`), ...detail, `. ${found} ${whatToDo}`];
}

function recoveredItems({ dnsName, findings }: ReportedEndpoint): readonly (readonly Part[])[] {
  const items = findings.slice(0, maxFindings).map((finding) => {
    const { since, reportedOn } = finding;
    const time = `from ${instantOf(new Date(since))} until ${instantOf(reportedOn)}`;
    return [quote(dnsName), `, ${placeOf(finding)}${findingText(finding).title}, ${time}`];
  });
  return [...items, ...moreItems(findings).map((item) => [quote(dnsName), ': ', ...item])];
}

const moreItems = ({ length }: readonly unknown[]): readonly (readonly Part[])[] =>
  length > maxFindings ? [[`and ${length - maxFindings} more`]] : [];

function placeOf({ port, addresses }: EndpointFinding): string {
  if (port === null) return '';
  const more = addresses.length - maxAddresses;
  const shown = addresses.slice(0, maxAddresses).join(', ');
  return `port ${port} on ${shown}${more > 0 ? ` and ${more} more` : ''}: `;
}

const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

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
        `Since ${at(since)}, no account is notified of problems of its endpoints. Of ${checked} endpoints that were checked since ${at(countedFrom)}, ${bad} turned bad. When more than a tenth turn bad at once, the cause is usually the platform and not the servers.`,
      ),
      paragraph(
        'Check the network and the DNS resolver of the hosts that run prober, and the clock of the platform.',
      ),
      paragraph(
        'Reports are sent again when less than a twentieth are bad; only problems that still exist then are reported. If the servers are in fact the cause, send the reports now: npm run admin -- monitoring endpoints release',
      ),
    ],
  };
}
