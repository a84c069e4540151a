import type { FindingAlert } from '@certwright/core-schema';
import { type Block, instantOf, itemList, link, paragraph, type Part, quote } from '../letter';
import type { UnknownCertificate } from './monitoring-subjects';

/** Names of one certificate in a mail; more are counted. */
const maxNames = 10;

/** Names that one mail may show in a row of text, by the monitored domain that concerns them. */
type Names = ReadonlyMap<string, readonly (readonly Part[])[]>;

/** What an account has to know about a certificate that it does not know. */
export function certificateBlocks(certificate: UnknownCertificate, heading: string): readonly Block[] {
  const { alert } = certificate;
  return [
    paragraph(`${heading}${certificate.isTest ? ' (a test, it was not issued)' : ''}:`),
    itemList([
      ...nameItems(certificate),
      ...(certificate.notBefore === null ? unreadableItems : []),
      ...(alert === null ? [] : [issuerItem(alert)]),
      ...keyItems('SHA-256 of the key of its issuer', certificate.issuerSpkiSha256),
      ...validityItems(certificate),
      ...(alert === null ? [] : [[changeText(alert.change)], [caaTexts[alert.caa]]]),
      [`tbs_sha256: ${certificate.tbsSha256}`],
      ...keyItems('pubkey_sha256', certificate.spkiSha256),
      ...(alert === null ? [] : [reportItem(alert)]),
    ]),
    ...(alert === null || alert.html_url === '' ? [] : [link('Details', alert.html_url)]),
  ];
}

/** The name by which a mail refers to a certificate. */
export const firstNameOf = ({ endpoints }: UnknownCertificate): Part =>
  endpoints[0] === undefined ? 'a monitored domain' : quote(endpoints[0].dns_name);

function nameItems({ endpoints, endpointCount }: UnknownCertificate): readonly (readonly Part[])[] {
  const names = new Map<string, (readonly Part[])[]>();
  for (const { dns_name, monitored_domain, wildcard, odd_name } of endpoints.slice(0, maxNames)) {
    const name: Part[] = [quote(dns_name)];
    if (wildcard && !dns_name.startsWith('*.')) name.push(' (through a wildcard)');
    if (odd_name) name.push(' (part of a text that is not a DNS name)');
    names.set(monitored_domain, [...(names.get(monitored_domain) ?? []), name]);
  }
  const more = endpointCount - Math.min(endpoints.length, maxNames);
  return [...domainItems(names), ...(more > 0 ? [[`and ${more} more of your names`]] : [])];
}

function domainItems(names: Names): (readonly Part[])[] {
  return [...names].map(([domain, ofDomain]) => [
    'For ',
    ...ofDomain.flatMap((name, at) => (at === 0 ? name : [', ', ...name])),
    ', monitored as ',
    quote(domain),
  ]);
}

const unreadableItems: readonly (readonly Part[])[] = [
  ['The log entry could not be read as a certificate; the names were found in its bytes'],
];

function validityItems({ notBefore, notAfter }: UnknownCertificate): readonly (readonly Part[])[] {
  return notBefore === null ? [] : [[`Valid from ${instantOf(notBefore)} until ${instantOf(notAfter)}`]];
}

/** The operator and not the issuer's name: a CA chooses what it writes there. */
function issuerItem({ issuer: { operator, website } }: FindingAlert): readonly Part[] {
  if (operator === null) return ['Issued by a CA whose operator is not known'];
  return ['Issued by ', quote(operator), ...(website === null ? [] : [' (', quote(website), ')'])];
}

const keyItems = (label: string, sha256: string | null): readonly (readonly Part[])[] =>
  sha256 === null ? [] : [[`${label}: ${sha256}`]];

const differences = {
  new_names: 'other names',
  new_issuer: 'another issuer',
  new_key: 'another key',
} as const;

function changeText(change: FindingAlert['change']): string {
  if (change === 'first') return 'It is the first certificate that was found for these names';
  if (change === 'renewal') return 'It has the names and the issuer of the last certificate';
  return `Compared with the last certificate it has ${change.map((each) => differences[each]).join(', ')}`;
}

const caaTexts = {
  allows: 'The CAA records of the names, as published now, allow this issuer',
  forbids: 'The CAA records of the names, as published now, forbid this issuer',
  unknown: 'It is not known whether the CAA records of the names allow this issuer',
} as const satisfies Record<FindingAlert['caa'], string>;

function reportItem({ problem_reporting }: FindingAlert): readonly Part[] {
  return problem_reporting === null
    ? ['How to report it to its issuer is not known']
    : ['To have it revoked, report it to its issuer: ', quote(problem_reporting)];
}
