import { type Arguments, badParam } from '../wire/arguments';
import type { Purchase } from './openings';

/** Characters of a note: it stands on the invoice, which is one page. */
const longestNote = 1_000;

/** RFC 5321, section 4.5.3.1.3: 256 octets of a path, less its brackets. */
const longestAddress = 254;

/** A term has its length by the product; whoever asks for another one is told, who only says so as well is not. */
const mostDays = 3_653;

/**
 * `days`, `force_new_subscription` and `coupon_code` are taken since existing clients send them. The first two have no
 * effect: what is bought is a term of the product's length, and every purchase begins one. There are no coupons.
 *
 * @throws Refusal `bad_param`
 */
export function readBuyRequest(given: Arguments): Extract<Purchase, { kind: 'term' }> {
  readDays(given);
  given.boolean('force_new_subscription');
  return { kind: 'term', invoiceNote: readNote(given), emailInvoiceTo: readAddress(given) };
}

function readNote(given: Arguments): string | null {
  const note = given.text('invoice_note') ?? '';
  if ([...note].length > longestNote) {
    throw badParam('invoice_note', 'bad_param', `must have at most ${longestNote} characters.`);
  }
  // Line breaks and tabs are text, the other controls are not.
  if (/[^\P{Cc}\n\r\t]/u.test(note)) {
    throw badParam('invoice_note', 'bad_param', 'must not have control characters.');
  }
  return note === '' ? null : note;
}

/** Whether mail can be sent there, only trying tells; but it is one address, and no second header. */
function readAddress(given: Arguments): string | null {
  const address = given.text('email_invoice_to') ?? '';
  if (address === '') return null;
  const plausible = /^[\x21-\x7e]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+$/.test(address);
  if (
    !plausible ||
    /[@"(),:;<>[\\\]]/.test(address.slice(0, address.lastIndexOf('@'))) ||
    address.length > longestAddress
  ) {
    throw badParam('email_invoice_to', 'bad_param', 'must be an email address, one and without a name.');
  }
  return address;
}

function readDays(given: Arguments): void {
  const days = given.text('days') ?? '';
  if (days === '' || (/^\d{1,4}$/.test(days) && Number(days) >= 1 && Number(days) <= mostDays)) return;
  throw badParam('days', 'bad_param', `must be a whole number from 1 to ${mostDays}.`);
}
