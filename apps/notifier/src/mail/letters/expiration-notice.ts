import type { ExpirationSubject } from '@certwright/persistence';
import { type Block, type Letter, list, paragraph, quote } from '../letter';

const dayMs = 24 * 60 * 60 * 1_000;

export function expirationNoticeLetter(subject: ExpirationSubject, now: Date): Letter {
  const { orderName, dnsNames, notAfter, serialNumber, accountName } = subject;
  const inDays = daysText(notAfter, now);
  return {
    subject: ['The certificate of ', quote(orderName), ` expires ${inDays}`],
    blocks: [
      paragraph(
        'The current certificate of the order ',
        quote(orderName),
        ' in the account ',
        quote(accountName),
        ` expires ${inDays}, on ${instantOf(notAfter)}. It holds these names:`,
      ),
      list(dnsNames),
      paragraph(`Its serial number is ${serialNumber}.`),
      ...whatToDo(subject),
      paragraph('To get no more of these notices for this order, set its "muted" to true.'),
    ],
  };
}

/** Whole days, counted up: somebody who acts by them is never late. */
function daysText(notAfter: Date, now: Date): string {
  const days = Math.ceil((notAfter.getTime() - now.getTime()) / dayMs);
  return days <= 1 ? 'within a day' : `in ${days} days`;
}

function whatToDo({ paused, autoRenew, problem }: ExpirationSubject): readonly Block[] {
  if (paused) {
    return [
      paragraph('The order is paused, so it is not renewed. To have it renewed, set its "paused" to false.'),
    ];
  }
  if (!autoRenew) {
    return [
      paragraph(
        'Automatic renewal is off. To renew it now, set "auto_renew" of the order to true; to keep it off after that, set it back to false at once.',
      ),
    ];
  }
  const renewed = 'Automatic renewal is on, but there is no replacement yet.';
  if (problem === null) {
    return [
      paragraph(`${renewed} Please look at the order: it may be waiting for an approval or for a CSR.`),
    ];
  }
  return [paragraph(`${renewed} The last attempt ran into this: `, quote(problem))];
}

const instantOf = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
