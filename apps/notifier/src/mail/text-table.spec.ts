import { textTable } from './text-table';

const columns = [
  { heading: 'What', align: 'start' },
  { heading: 'Cents', align: 'end' },
] as const;

it('pads texts on the right and numbers on the left, without trailing spaces', () => {
  expect(
    textTable(columns, [
      ['a', '100'],
      ['a bb', '12345678'],
    ]),
  ).toBe(['What     Cents', '----  --------', 'a          100', 'a bb  12345678'].join('\n'));
  expect(textTable(columns, [['a', '']])).toBe(['What  Cents', '----  -----', 'a'].join('\n'));
});

it('breaks a wide cell at spaces, and a word that is wider than the column', () => {
  const rows = [[`${'word '.repeat(9).trim()} ${'x'.repeat(50)}`, '1']];
  expect(textTable(columns, rows).split('\n').slice(2)).toEqual([
    `${'word '.repeat(8)}      1`,
    'word',
    'x'.repeat(40),
    'x'.repeat(10),
  ]);
});

it('counts graphemes, such as emoji and combining marks', () => {
  const [, , family, plain] = textTable(columns, [
    ['👩‍👩‍👧‍👦e\u0301', '1'],
    ['ab', '1'],
  ]).split('\n');
  expect(family).toBe('👩‍👩‍👧‍👦e\u0301        1');
  expect(plain).toBe('ab        1');
});
