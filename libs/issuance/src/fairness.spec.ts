import { inTurn } from './fairness';

describe('inTurn', () => {
  it('takes the first of every account, then the second of every account', () => {
    const work = ['a1', 'a2', 'a3', 'b1', 'c1', 'c2'].map((id) => ({ id, accountId: id.slice(0, 1) }));
    expect(inTurn(work).map(({ item, turn }) => `${turn}:${item.id}`)).toEqual([
      '1:a1',
      '1:b1',
      '1:c1',
      '2:a2',
      '2:c2',
      '3:a3',
    ]);
  });
});
