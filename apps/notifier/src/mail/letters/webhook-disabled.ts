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
        'What was tried and what it ran into stands in the delivery log of the endpoint. When the endpoint works again, enable it in the webhook settings of the account; a delivery can be sent once more from the log.',
      ),
      paragraph(
        'Certificates are issued and renewed all the same, and every order tells its state when it is asked.',
      ),
    ],
  };
}

/** A query often contains a secret, which must not be mailed. */
const withoutQuery = (url: string): string => url.replace(/[?#].*$/s, '');
