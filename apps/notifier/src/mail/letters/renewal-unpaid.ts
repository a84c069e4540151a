import type { UnpaidSubject } from '../mail-subjects';
import { instantOf, type Letter, paragraph, quote } from '../letter';
import { objectOf } from './object-messages';

export function renewalUnpaidLetter({ owner, accountName, objectName, notAfter }: UnpaidSubject): Letter {
  const object = objectOf[owner];
  return {
    subject: ['The renewal of ', quote(objectName), ' could not be paid'],
    blocks: [
      paragraph(
        `It is time to renew the ${object} `,
        quote(objectName),
        ' of the account ',
        quote(accountName),
        // The balance may be too low, or in another currency than the price.
        ', but the account could not pay for it. So it was not renewed.',
      ),
      paragraph(
        notAfter === null
          ? 'It has no valid certificate any more.'
          : `Its present certificate is valid until ${instantOf(notAfter)}.`,
      ),
      paragraph(
        notAfter === null
          ? 'To have a new one, add to the balance of the account, then request it.'
          : 'To have it renewed, add to the balance of the account before that time: until then the renewal is tried again by itself every hour.',
        ' If the balance covers the price, ask the operator.',
      ),
      paragraph(`To let it end instead, set "auto_renew" of the ${object} to false.`),
    ],
  };
}
