import type { RevokedSubject } from '../mail-subjects';
import { type Letter, list, paragraph, quote } from '../letter';

export function revocationCompleteLetter(subject: RevokedSubject): Letter {
  const { accountName, objectName, serialNumbers } = subject;
  return {
    subject: ['The revocation for ', quote(objectName), ' is complete'],
    blocks: [
      paragraph(
        'Certificates for ',
        quote(objectName),
        ' in the account ',
        quote(accountName),
        ' were revoked, and the CA has confirmed it. They have these serial numbers:',
      ),
      list(serialNumbers),
      paragraph(
        'A server that still uses one of them is not trusted any more: install another certificate there.',
      ),
      paragraph('To turn these mails off, set "mail_when_revoked" of the account to false.'),
    ],
  };
}
