import { maxCertificatesInMail, type MonitoringMailFacts } from '@certwright/delivery';
import { type Block, itemList, type Letter, paragraph, type Part, quote } from '../letter';
import { certificateBlocks, firstNameOf } from './found-certificate';
import type { CertificatesSubject, UnknownCertificate } from './monitoring-subjects';

type Occasion = MonitoringMailFacts['monitoring-certificates']['occasion'];

/** Unknown certificates: at once, gathered for some minutes, or of a day. */
export function certificatesLetter(subject: CertificatesSubject, occasion: Occasion): Letter {
  const { certificates } = subject;
  const count = certificates.length;
  const shown = certificates.slice(0, maxCertificatesInMail);
  const heading = (at: number) => (count === 1 ? 'The certificate' : `Certificate ${at + 1} of ${count}`);
  return {
    subject: subjectOf(certificates, occasion),
    blocks: [
      ...introduction(subject, occasion),
      ...shown.flatMap((certificate, at) => certificateBlocks(certificate, heading(at))),
      ...(count > shown.length ? [moreBlock] : []),
      ...whatToDo,
      paragraph(
        'To get a mail per day or none instead, set "mail" to {"certificates": "digest"} or {"certificates": "off"} with POST /api/v3/monitoring/settings.',
      ),
    ],
  };
}

function subjectOf(certificates: readonly UnknownCertificate[], occasion: Occasion): readonly Part[] {
  const [first] = certificates;
  if (first === undefined) throw new TypeError('a mail without certificates');
  const count = certificates.length;
  const prefix = certificates.every(({ isTest }) => isTest) ? 'Test: ' : '';
  if (occasion === 'digest') {
    return [`${prefix}Daily digest: ${counted(count)}, the first for `, firstNameOf(first)];
  }
  return count === 1
    ? [`${prefix}Unknown certificate for `, firstNameOf(first)]
    : [`${prefix}${counted(count)}, the first for `, firstNameOf(first)];
}

const counted = (count: number): string =>
  count === 1 ? '1 unknown certificate' : `${count} unknown certificates`;

const occasions = {
  'at-once': '',
  gathered: ' since the last mail',
  digest: ' since the last daily digest',
} as const satisfies Record<Occasion, string>;

function introduction(
  { accountName, certificates }: CertificatesSubject,
  occasion: Occasion,
): readonly Block[] {
  const tests = certificates.filter(({ isTest }) => isTest).length;
  if (tests === certificates.length) {
    return [
      paragraph(
        'This is a test of the alerts of the account ',
        quote(accountName),
        ', which was requested through the API. No certificate was issued.',
      ),
    ];
  }
  const found = certificates.length - tests;
  return [
    paragraph(
      `${found === 1 ? 'A certificate was' : `${found} certificates were`} found in Certificate Transparency${occasions[occasion]} that the account `,
      quote(accountName),
      ' does not know.',
    ),
    ...(tests > 0
      ? [paragraph(`This mail also has ${tests === 1 ? 'a test' : `${tests} tests`} of the alerts.`)]
      : []),
  ];
}

const moreBlock = paragraph('The others are listed by GET /api/v3/monitoring/certificates?state=unknown.');

/** Also in the summary of a domain that was added. */
export const whatToDo: readonly Block[] = [
  paragraph('If a certificate is yours, authorize it:'),
  itemList([
    ['this certificate: POST /api/v3/monitoring/known_certs with its "tbs_sha256"'],
    [
      'every certificate with its key: POST /api/v3/monitoring/known_keys with its "pubkey_sha256" and "dns_names"',
    ],
  ]),
  paragraph(
    'If it is not yours, report it to its issuer, which must revoke it. Then check who can change the DNS records and the web servers of the names.',
  ),
];
