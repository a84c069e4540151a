import { Problem } from '@certwright/errors';

/** A positive integer that JSON's numbers hold, written as a number is. */
export function isCertificateId(text: string): boolean {
  return /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text));
}

/** The same for an id that nobody has and for one of another order. */
export function noSuchCertificate(): Problem {
  return new Problem('not_found', 'The order has no certificate with this id.');
}
