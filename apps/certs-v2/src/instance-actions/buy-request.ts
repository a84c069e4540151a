import { ApiSchema } from '@nestjs/swagger';
import {
  FlagArgument,
  IntegerArgument,
  readArguments,
  type Reading,
  type Sent,
  TextArgument,
  unreadable,
} from '../wire/arguments';
import type { Purchase } from './openings';

/** Characters of a note: it is printed on the invoice, which is one page. */
const maxNoteLength = 1_000;

/** RFC 5321, section 4.5.3.1.3: 256 bytes of a path, minus its brackets. */
const maxAddressLength = 254;

/** Ten years. */
const maxDays = 3_653;

/**
 * Existing clients also send `days`, `force_new_subscription` and `coupon_code`. The first two are checked and have no
 * effect: every purchase begins a term of the product's length. There are no coupons.
 */
@ApiSchema({ name: 'BuyRequest' })
export class BuyRequest {
  @IntegerArgument(1, maxDays, null) days?: number;
  @FlagArgument(null) force_new_subscription?: boolean;
  @TextArgument({}, readNote) invoice_note?: string;
  @TextArgument({ format: 'email' }, readAddress) email_invoice_to?: string;
}

/** @throws Refusal `bad_param` */
export function readBuyRequest(given: Sent): Extract<Purchase, { kind: 'term' }> {
  const { invoice_note = null, email_invoice_to = null } = readArguments(BuyRequest, given);
  return { kind: 'term', invoiceNote: invoice_note, emailInvoiceTo: email_invoice_to };
}

function readNote(note: string): Reading<string> {
  if ([...note].length > maxNoteLength) {
    return unreadable('bad_param', `invoice_note must have at most ${maxNoteLength} characters.`);
  }
  // Line breaks and tabs are text, the other controls are not.
  if (/[^\P{Cc}\n\r\t]/u.test(note)) {
    return unreadable('bad_param', 'invoice_note must not have control characters.');
  }
  return note === '' ? undefined : note;
}

/** Only a delivery attempt shows whether the address works; but it is a single address, and not a second header. */
function readAddress(address: string): Reading<string> {
  if (address === '') return undefined;
  const plausible = /^[\x21-\x7e]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+$/.test(address);
  if (
    plausible &&
    !/[@"(),:;<>[\\\]]/.test(address.slice(0, address.lastIndexOf('@'))) &&
    address.length <= maxAddressLength
  ) {
    return address;
  }
  return unreadable('bad_param', 'email_invoice_to must be one email address without a name.');
}
