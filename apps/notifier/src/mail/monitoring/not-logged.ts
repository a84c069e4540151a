import type { PlanOwner } from '@certwright/core-schema';
import { instantOf, type Letter, list, paragraph, quote } from '../letter';
import type { LoggedSubject, NotLoggedSubject } from './monitoring-subjects';

const objectOf = {
  'orders-v3': 'order',
  'certs-v2': 'certificate object',
} as const satisfies Record<PlanOwner, string>;

/** A certificate of the account that no log has. */
export function notLoggedLetter(subject: NotLoggedSubject): Letter {
  const { owner, accountName, objectName, dnsNames, serialNumber, notAfter, tbsSha256, sctAt } = subject;
  return {
    subject: ['A certificate of ', quote(objectName), ' is not in Certificate Transparency'],
    blocks: [
      paragraph(
        `A certificate of the ${objectOf[owner]} `,
        quote(objectName),
        ' of the account ',
        quote(accountName),
        ` was promised to a log${sctAt === null ? '' : ` on ${instantOf(sctAt)}`}, but it was not found there within 24 hours. It is valid until ${instantOf(notAfter)} for these names:`,
      ),
      list(dnsNames),
      paragraph(
        `Its serial number is ${serialNumber}${tbsSha256 === null ? '' : `, and its tbs_sha256 ${tbsSha256}`}.`,
      ),
      paragraph(
        'Browsers accept the certificate as long as they trust the log. If the log does not publish it, they may reject it later. The operator is notified; you can replace the certificate before that.',
      ),
    ],
  };
}

/** Two certificates were logged for one issuance. */
export function secondCertificateLetter(subject: LoggedSubject, tbsSha256: string): Letter {
  return {
    subject: ['A second certificate for ', quote(subject.objectName), ' was logged'],
    blocks: [
      paragraph(
        ...objectParts(subject),
        `, one certificate was requested for these names, but a second one with the same key was logged:`,
      ),
      list(subject.dnsNames),
      paragraph(`Its tbs_sha256 is ${tbsSha256}.`),
      paragraph(
        'The CA may have repeated the issuance after an error. Only the certificate that you have received is renewed and revoked here. The operator is notified.',
      ),
    ],
  };
}

/** A certificate was logged and never received. */
export function notReceivedLetter(subject: LoggedSubject, tbsSha256: string): Letter {
  return {
    subject: ['A certificate for ', quote(subject.objectName), ' was logged but not received'],
    blocks: [
      paragraph(
        ...objectParts(subject),
        `, a certificate was requested for these names. One with its key was logged, but the CA has not returned it within an hour after the end of the issuance:`,
      ),
      list(subject.dnsNames),
      paragraph(`Its tbs_sha256 is ${tbsSha256}.`),
      paragraph('Only servers with your key can use it. The operator is notified and can have it revoked.'),
    ],
  };
}

const objectParts = ({ owner, objectName, accountName }: LoggedSubject) => [
  `For the ${objectOf[owner]} `,
  quote(objectName),
  ' of the account ',
  quote(accountName),
];
