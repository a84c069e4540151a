import { readAmount } from '@certwright/issuance';
import { InvalidArgumentError } from 'commander';

/** Decimal units of a currency, exact. @returns hundredths; negative with a minus sign */
export function amount(text: string): number {
  const cents = readAmount(text);
  if (cents === undefined)
    throw new InvalidArgumentError(
      'Expected an amount such as 12 or 12.34, with at most ten digits before the point.',
    );
  return cents;
}

/** @returns hundredths, 0 or more */
export function unsignedAmount(text: string): number {
  const cents = amount(text);
  if (cents < 0) throw new InvalidArgumentError('Expected an amount of 0 or more.');
  return cents;
}

/** ISO 4217. */
export function currency(text: string): string {
  if (!/^[A-Z]{3}$/.test(text))
    throw new InvalidArgumentError('Expected three capital letters, such as USD.');
  return text;
}

export function boolean(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new InvalidArgumentError('Expected true or false.');
  return text === 'true';
}

export const integer =
  (min: number, max: number) =>
  (text: string): number => {
    const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max))
      throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
    return value;
  };

/** Lists print one line for each object, with tabs between its members. */
export function oneLine(maxCharacters: number): (given: string) => string {
  return (given) => {
    const isText = given.isWellFormed() && !/\p{Cc}/u.test(given);
    if (!isText || given.trim() === '' || given.length > maxCharacters)
      throw new InvalidArgumentError(`Expected 1 to ${maxCharacters} characters in one line.`);
    return given;
  };
}
