import type { DisabledSubject } from '../mail-subjects';
import { type Letter, paragraph, quote } from '../letter';

export function webhookDisabledLetter({ accountName, url, description, reason }: DisabledSubject): Letter {
  return {
    subject: ['A webhook of ', quote(accountName), ' was switched off'],
    blocks: [
      paragraph(
        'The webhook endpoint ',
        quote(withoutQuery(url)),
        ...(description === '' ? [] : [' (', quote(description), ')']),
        ' of the account ',
        quote(accountName),
        ' was switched off. Nothing is sent there any more, and what was waiting for it is not sent either.',
      ),
      paragraph(`The reason: ${reason}`),
      paragraph(
        'The delivery log of the endpoint shows every attempt and its error. When the endpoint works again, enable it in the webhook settings of the account; a delivery can be resent from the log.',
      ),
      paragraph('Certificates are still issued and renewed, and the state of every order can be requested.'),
    ],
  };
}

/** A query often contains a secret, which must not be mailed. */
const withoutQuery = (url: string): string => url.replace(/[?#].*$/s, '');
