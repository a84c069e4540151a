import type { IssuedSubject } from '../mail-subjects';
import { instantOf, type Letter, list, paragraph, quote } from '../letter';

export function certificateIssuedLetter(subject: IssuedSubject): Letter {
  const { accountName, objectName, dnsNames, serialNumber, notAfter } = subject;
  return {
    subject: ['The certificate for ', quote(objectName), ' is ready'],
    blocks: [
      paragraph(
        'The certificate for ',
        quote(objectName),
        ' in the account ',
        quote(accountName),
        ` was issued. It is valid until ${instantOf(notAfter)} for these names:`,
      ),
      list(dnsNames),
      paragraph(`Its serial number is ${serialNumber}.`),
      paragraph('Download it with your client or through the API, and install it on your servers.'),
      paragraph('To turn these mails off, set "mail_when_issued" of the account to false.'),
    ],
  };
}
