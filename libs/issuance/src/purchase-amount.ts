/** `USD 12.34`; exact, whatever the size. @param cents hundredths of the currency */
export function amountText(cents: number | bigint, currency: string): string {
  return `${currency} ${decimalOf(cents)}`;
}

/** `12.34`, `-0.05` */
export function decimalOf(cents: number | bigint): string {
  const amount = BigInt(cents);
  const size = amount < 0n ? -amount : amount;
  return `${amount < 0n ? '-' : ''}${size / 100n}.${String(size % 100n).padStart(2, '0')}`;
}

/** At most ten digits before the point: sums of such amounts stay exact as numbers. */
const decimal = /^(-?)(\d{1,10})(?:\.(\d{1,2}))?$/;

/** @returns hundredths; undefined for an invalid amount: `1e3`, `1,5`, `.5`, a third decimal place */
export function readAmount(text: string): number | undefined {
  const [whole, sign, units = '', hundredths = ''] = decimal.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const cents = Number(units) * 100 + Number(hundredths.padEnd(2, '0'));
  return sign === '-' && cents !== 0 ? -cents : cents;
}
