import { checkPresented } from './check-presented';

const expected = {
  leafSha256: 'leaf',
  chainSha256: ['one', 'two'],
  temporarySha256: ['temporary'],
};
const checked = (presented: readonly string[], more: Partial<typeof expected> = {}) => {
  const { correct, chained, temporary } = checkPresented(presented, { ...expected, ...more });
  return [correct, chained, temporary];
};

describe('what is presented', () => {
  it.each([
    ['the whole chain', ['leaf', 'one', 'two'], [true, true, false]],
    ['the chain with its root', ['leaf', 'one', 'two', 'root'], [true, true, false]],
    [
      'the chain in another order, and what belongs to nothing',
      ['leaf', 'x', 'two', 'one'],
      [true, true, false],
    ],
    ['the leaf alone', ['leaf'], [true, false, false]],
    ['half the chain', ['leaf', 'two', 'two'], [true, false, false]],
    ['another leaf of the same chain', ['other', 'one', 'two'], [false, true, false]],
    ['the leaf behind another one', ['other', 'leaf', 'one', 'two'], [false, true, false]],
    ['an intermediate in place of a leaf', ['one', 'two'], [false, false, false]],
    ['something else', ['other'], [false, false, false]],
    ['a temporary certificate', ['temporary'], [true, true, true]],
    ['a temporary certificate behind another one', ['other', 'temporary'], [false, false, false]],
  ])('%s', (_what, presented, expectedCheck) => {
    expect(checked(presented)).toEqual(expectedCheck);
  });

  it('is chained by itself where there are no intermediates', () => {
    expect(checked(['leaf'], { chainSha256: [] })).toEqual([true, true, false]);
    expect(checked(['other'], { chainSha256: [] })).toEqual([false, true, false]);
  });
});
