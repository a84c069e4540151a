import fc from 'fast-check';
import { fromBase64 } from './bytes';

describe('base64 (RFC 4648, section 4)', () => {
  it('of any bytes is decoded', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) => {
        expect(fromBase64(Buffer.from(bytes).toString('base64'))).toEqual(Buffer.from(bytes));
      }),
      { numRuns: 1000, seed: 4648 },
    );
  });

  it.each<[string, unknown]>([
    ['without padding', 'AAA'],
    ['with too much padding', 'AAAA===='],
    ['with padding in the middle', 'AA==AAAA'],
    ['with bits left over', 'AB=='],
    ['with bits left over of two bytes', 'AAB='],
    ['with a line feed', 'AAAA\nAAA'],
    ['with a space', 'AAAA AAA'],
    ['with a character of no alphabet', 'AA*AAAAA'],
    ['in the alphabet for URLs', 'AA-A'],
    ['and that alphabet to its end', 'AAA_'],
    ['that is a number', 5],
    ['that is missing', undefined],
  ])('%s is none', (_what, text) => expect(fromBase64(text)).toBeNull());

  it('accepts only the canonical encoding of the decoded bytes', () => {
    const unit = fc.constantFrom('A', 'B', 'Q', 'g', 'w', '+', '/', '-', '_', '=', '*', ' ', 'é');
    let taken = 0;
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 13 }), (text) => {
        const isBase64 = Buffer.from(text, 'base64').toString('base64') === text;
        expect([text, fromBase64(text) !== null]).toEqual([text, isBase64]);
        if (isBase64) taken++;
      }),
      { numRuns: 20_000, seed: 4648 },
    );
    expect(taken).toBeGreaterThan(100);
  });
});
