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

  it('a long run of spaces, which the server of a customer may send, takes no long time', () => {
    const begunMs = performance.now();
    const spaces = ' '.repeat(50_000);
    expect(parseCaa(`0 issue "${spaces}x"${spaces}`)?.value).toBe(`${spaces}x`);
    // Seconds if it were quadratic.
    expect(performance.now() - begunMs).toBeLessThan(1_000);
  });

  it('the normal form stays unchanged', () => {
    const text = '0 issue "a\\"b; c=d"';
    const value = parseCaa(text);
    expect(value === null ? null : formatCaa(value)).toBe(text);
  });
});
