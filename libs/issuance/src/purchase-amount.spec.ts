import { amountText, decimalOf, readAmount } from './purchase-amount';

it.each([
  [0, '0.00'],
  [5, '0.05'],
  [-5, '-0.05'],
  [1_234, '12.34'],
  [-100, '-1.00'],
  [9_007_199_254_740_993n, '90071992547409.93'],
])('writes %s hundredths as %s', (cents, text) => {
  expect(decimalOf(cents)).toBe(text);
  expect(amountText(cents, 'USD')).toBe(`USD ${text}`);
});

it.each([
  ['0', 0],
  ['-0.00', 0],
  ['12', 1_200],
  ['12.3', 1_230],
  ['12.34', 1_234],
  ['-0.05', -5],
  ['0.29', 29],
  ['1.15', 115],
  ['9999999999.99', 999_999_999_999],
])('reads %s exactly', (text, cents) => {
  expect(readAmount(text)).toBe(cents);
});

it.each(['', ' ', '1e3', '1,5', '.5', '5.', '1.234', '+1', '--1', '0x1', 'NaN', '12345678901', '1 000', '١'])(
  'refuses %j',
  (text) => {
    expect(readAmount(text)).toBeUndefined();
  },
);

it('reads back what it writes', () => {
  for (const cents of [0, 1, 99, 100, 101, 4_503_599_627, -1, -100, -12_345])
    expect(readAmount(decimalOf(cents))).toBe(cents);
});
