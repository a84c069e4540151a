import { eitherTxt, quotedString, quotedTxt, txtStrings, unquotedTxt } from './txt-value';

const x = (count: number): string => 'x'.repeat(count);

describe('TXT values', () => {
  it.each([
    [0, [0]],
    [254, [254]],
    [255, [255]],
    [256, [255, 1]],
    [510, [255, 255]],
    [512, [255, 255, 2]],
  ])('%i bytes are strings of %p', (length, lengths) => {
    expect(txtStrings(x(length)).map((text) => text.length)).toEqual(lengths);
  });

  it.each([
    ['', '""'],
    ['plain', '"plain"'],
    ['a b; c', '"a b; c"'],
    ['say "x"', '"say \\"x\\""'],
    ['c:\\065', '"c:\\\\065"'],
    ['tab\t', '"tab\\009"'],
    [`${x(255)}"`, `"${x(255)}" "\\""`],
  ])('%p is written as %p, and read again', (text, presentation) => {
    expect(quotedTxt(text)).toBe(presentation);
    expect(unquotedTxt(presentation)).toBe(text);
  });

  it.each([
    ['"a" "b"', 'ab'],
    ['"a""b"', 'ab'],
    ['bare', 'bare'],
    ['bare "quoted" \\"x', 'barequoted"x'],
    ['"\\065\\."', 'A.'],
    ['  "spaces around"  ', 'spaces around'],
    ['', ''],
  ])('%p is read as %p', (presentation, text) => {
    expect(unquotedTxt(presentation)).toBe(text);
  });

  it.each(['"open', 'a"b', '"a" "', '"ends in a backslash\\'])('%p is not in presentation format', (text) => {
    expect(unquotedTxt(text)).toBeNull();
  });

  it('an escape above 255 is not a byte', () => {
    expect(unquotedTxt('"\\999"')).toBe('\\999');
  });

  it('Route 53 escapes in octal', () => {
    expect(quotedTxt('é', 'octal')).toBe('"\\303\\251"');
    expect(unquotedTxt('"\\101"', 'octal')).toBe('A');
  });

  it('both forms of TXT that an API may return are read', () => {
    expect(eitherTxt('"a\\"b"')).toBe('a"b');
    expect(eitherTxt('a"b')).toBe('a"b');
    expect(eitherTxt('"not closed')).toBe('"not closed');
  });

  it('one long string stays one for APIs that split it themselves', () => {
    expect(quotedString(x(300))).toBe(`"${x(300)}"`);
  });
});
