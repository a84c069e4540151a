import type { ApprovalSubject } from '../mail-subjects';
import { dateOf, type Letter, link, list, paragraph, type Part, quote } from '../letter';

/** @param url the approval link, behind a button */
export function approvalRequestLetter(subject: ApprovalSubject, url: string, expiresAt: Date): Letter {
  const { accountName, dnsName, dnsNames } = subject;
  const others = dnsNames.filter((name) => name !== dnsName);
  return {
    subject: ['Please approve a certificate for ', quote(dnsName)],
    blocks: [
      paragraph(
        'The account ',
        quote(accountName),
        ' requests a TLS certificate for ',
        quote(dnsName),
        ...orderedAs(subject),
        '. It is issued only with the approval of a person who controls this name, and this mailbox may give it.',
      ),
      ...(others.length === 0
        ? []
        : [
            paragraph('The same certificate is to hold these names, which are approved separately:'),
            list(others),
          ]),
      paragraph(
        'If you know this account and want it to have the certificate, open the page and press the button there.',
      ),
      link('Look at the request and approve it', url),
      paragraph(
        `The link works once, until ${dateOf(expiresAt)} (UTC). Opening it approves nothing yet. It is meant for you alone: anyone who has it can approve.`,
      ),
      paragraph(
        'If you did not expect this mail, do nothing: without your approval, this request leads to no certificate.',
      ),
    ],
  };
}

/** By its owner's name for it; a certificate for this exact name needs no other. */
function orderedAs({ owner, objectName, dnsName }: ApprovalSubject): readonly Part[] {
  if (owner === 'orders-v3') return [' (order ', quote(objectName), ')'];
  return objectName === dnsName ? [] : [' (in the certificate for ', quote(objectName), ')'];
}
