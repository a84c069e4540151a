import { readAmount } from '@certwright/issuance';
import { InvalidArgumentError } from 'commander';

/** Decimal units of a currency, exact. @returns hundredths; below zero where it is said so */
export function amount(text: string): number {
  const cents = readAmount(text);
  if (cents === undefined)
    throw new InvalidArgumentError(
      'an amount as 12 or 12.34 is expected, with ten digits before the point at most.',
    );
  return cents;
}

/** @returns hundredths, 0 or more */
export function unsignedAmount(text: string): number {
  const cents = amount(text);
  if (cents < 0) throw new InvalidArgumentError('an amount of 0 or more is expected.');
  return cents;
}

/** ISO 4217. */
export function currency(text: string): string {
  if (!/^[A-Z]{3}$/.test(text)) throw new InvalidArgumentError('three capital letters are expected.');
  return text;
}
