import { formatCaa, parseCaa } from './caa-value';

describe('CAA values', () => {
  it.each([
    ['0 issue "ca.example"', { flags: 0, tag: 'issue', value: 'ca.example' }],
    ['128 ISSUEWILD ca.example', { flags: 128, tag: 'issuewild', value: 'ca.example' }],
    [
      '0 issue "ca.example; accounturi=https://ca.example/1"',
      { flags: 0, tag: 'issue', value: 'ca.example; accounturi=https://ca.example/1' },
    ],
    [
      '0 issue ca.example; validationmethods=dns-01',
      { flags: 0, tag: 'issue', value: 'ca.example; validationmethods=dns-01' },
    ],
    ['0 issue ";"', { flags: 0, tag: 'issue', value: ';' }],
    ['0 iodef "a\\"b\\\\c"', { flags: 0, tag: 'iodef', value: 'a"b\\c' }],
  ])('%p is read', (text, value) => {
    expect(parseCaa(text)).toEqual(value);
  });

  it.each(['', '0 issue', '256 issue "x"', 'issue "x"', '0 is-sue "x"', '0 issue "x', '-1 issue "x"'])(
    '%p is not a CAA value',
    (text) => {
      expect(parseCaa(text)).toBeNull();
    },
  );

  it('the normal form stays unchanged', () => {
    const text = '0 issue "a\\"b; c=d"';
    const value = parseCaa(text);
    expect(value === null ? null : formatCaa(value)).toBe(text);
  });
});
