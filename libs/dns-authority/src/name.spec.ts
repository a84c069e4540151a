import { parseName, pathBelow, readName } from './name';
import { WireFault } from './wire-fault';

const header = Buffer.alloc(12);
const at12 = (bytes: Buffer) => readName(Buffer.concat([header, bytes]), 12);
const label = (text: string) => Buffer.concat([Buffer.of(text.length), Buffer.from(text, 'latin1')]);
const root = Buffer.of(0);

describe('a name on the wire', () => {
  it('is read in lower case, with the place after it', () => {
    expect(at12(Buffer.concat([label('WwW'), label('Example'), root]))).toEqual({
      name: 'www.example',
      next: 25,
    });
  });

  it('keeps a dot inside a label apart from a dot between labels', () => {
    expect(at12(Buffer.concat([label('a.b'), root])).name).toBe('a\\046b');
    expect(at12(Buffer.concat([label('a'), label('b'), root])).name).toBe('a.b');
    expect(at12(Buffer.concat([label('a\\046b'), root])).name).toBe('a\\092046b');
  });

  it('folds the case of ASCII letters only', () => {
    expect(at12(Buffer.concat([label('\xc0A'), root])).name).toBe('\\192a');
  });

  it('takes a label of 63 bytes and no longer one', () => {
    expect(at12(Buffer.concat([label('a'.repeat(63)), root])).name).toHaveLength(63);
    expect(() => at12(Buffer.concat([Buffer.of(64), Buffer.alloc(64, 0x61), root]))).toThrow(WireFault);
  });

  it('takes a name of 255 bytes and no longer one', () => {
    const three = Buffer.concat([1, 2, 3].map(() => label('a'.repeat(63))));
    expect(at12(Buffer.concat([three, label('a'.repeat(61)), root])).name).toHaveLength(253);
    expect(() => at12(Buffer.concat([three, label('a'.repeat(62)), root]))).toThrow('too long');
  });

  it.each([
    ['to itself', Buffer.of(0xc0, 12)],
    ['forward', Buffer.of(0xc0, 14, 0)],
    ['into the header', Buffer.of(0xc0, 0)],
    ['past the end', Buffer.of(0xc0)],
  ])('refuses a compression pointer %s', (_, bytes) => {
    expect(() => at12(bytes)).toThrow(WireFault);
  });

  it('follows a pointer to an earlier name', () => {
    const message = Buffer.concat([header, label('com'), root, label('example'), Buffer.of(0xc0, 12)]);
    expect(readName(message, 17)).toEqual({ name: 'example.com', next: message.length });
  });
});

describe('a name in text', () => {
  it.each([
    ['_acme-challenge.WWW.example.com.', '_acme-challenge.www.example.com'],
    ['a', 'a'],
  ])('%s is %s', (text, name) => {
    expect(parseName(text)).toBe(name);
  });

  it.each([
    '',
    '.',
    'a..b',
    '.a',
    'a b',
    '*.example.com',
    '-a.com',
    'a-.com',
    'ä.com',
    'a'.repeat(64),
    'a\\046b',
  ])('%p is none', (text) => {
    expect(parseName(text)).toBeUndefined();
  });

  it('has at most 253 characters', () => {
    const long = `${'a'.repeat(63)}.${'a'.repeat(63)}.${'a'.repeat(63)}.`;
    expect(parseName(long + 'a'.repeat(61))).toBeDefined();
    expect(parseName(long + 'a'.repeat(62))).toBeUndefined();
  });
});

it('lists the names below an apex from the top', () => {
  expect(pathBelow('example.com', 'a.b.example.com')).toEqual(['b.example.com', 'a.b.example.com']);
  expect(pathBelow('example.com', 'example.com')).toEqual([]);
});
