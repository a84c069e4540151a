import { secretBytes, secretLabel } from './secret-label';

it('writes 20 random bytes as 32 characters of base32 (RFC 4648, section 10)', () => {
  expect(secretLabel(Buffer.from('foobar'.repeat(3) + 'fo'))).toMatch(/^mzxw6ytbojtg633cmfzgm33pmjqxeztp$/);
  expect(secretLabel(Buffer.from('fooba'))).toBe('mzxw6ytb');
});

it('fits a label: at most 63 bytes (RFC 1035, section 2.3.4)', () => {
  expect(secretLabel(new Uint8Array(secretBytes))).toHaveLength(32);
});
