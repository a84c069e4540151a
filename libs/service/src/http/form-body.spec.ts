import { Problem } from '@certwright/errors';
import { parseFormBody } from './form-body';

const parse = (text: string): unknown => parseFormBody(Buffer.from(text, 'latin1'));

describe('a form', () => {
  it('has a string for a field that comes once, an array for one that comes several times', () => {
    expect(parse('cn=a.example.com&sans=b&sans=c&sans=d&note=%C3%A4+b&empty=')).toEqual({
      cn: 'a.example.com',
      sans: ['b', 'c', 'd'],
      note: 'ä b',
      empty: '',
    });
    expect(parse('')).toEqual({});
  });

  it.each(['__proto__=1', 'a=%00', 'a=%ff', 'a=%zz', 'a=\xff', 'a&'.repeat(1_001)])(
    '%s is a bad_request',
    (text) => {
      expect(() => parse(text)).toThrow(Problem);
    },
  );

  it('has a thousand fields at most, which are counted before any is parsed', () => {
    expect(parse(`${'a&'.repeat(1_000)}&&`)).toEqual({ a: Array(1_000).fill('') });
    const parser = jest.spyOn(globalThis, 'URLSearchParams');
    expect(() => parse('a&'.repeat(1_001))).toThrow('more than 1000 fields');
    expect(parser).not.toHaveBeenCalled();
    parser.mockRestore();
  });
});
