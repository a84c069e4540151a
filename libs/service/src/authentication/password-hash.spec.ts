import { fitsPassword, hashPassword, unknownPasswordHash } from './password-hash';

/** RFC 7914 §12, third vector; the first 32 of its 64 bytes, which PBKDF2 yields for any length. */
const ofRfc = `scrypt:16384:8:1:${Buffer.from('SodiumChloride').toString('base64url')}:${Buffer.from(
  '7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2',
  'hex',
).toString('base64url')}`;

describe('a stored password', () => {
  it('is scrypt of RFC 7914', async () => {
    expect(await fitsPassword('pleaseletmein', ofRfc)).toBe(true);
    expect(await fitsPassword('pleaseletmeout', ofRfc)).toBe(false);
  });

  it('has a salt of its own, 32 MiB of work, and fits nothing but the password', async () => {
    const [one, other] = [await hashPassword('Grüße 🔑'), await hashPassword('Grüße 🔑')];
    expect(one).toMatch(/^scrypt:32768:8:1:[\w-]{22}:[\w-]{43}$/);
    expect(one).not.toBe(other);
    expect(await fitsPassword('Grüße 🔑', one)).toBe(true);
    expect(await fitsPassword('Grüße 🔒', one)).toBe(false);
  });

  it('fits however its accents are composed (RFC 8265 §4.2)', async () => {
    const stored = await hashPassword('Grüße'.normalize('NFD'));
    expect(await fitsPassword('Grüße'.normalize('NFC'), stored)).toBe(true);
  });

  it.each([
    ['nothing', ''],
    ['another scheme', ofRfc.replace('scrypt', 'argon2id')],
    ['a cost that is no power of two', ofRfc.replace('16384', '16385')],
    ['no cost', ofRfc.replace('16384', '0')],
    ['no blocks', ofRfc.replace(':8:', ':0:')],
    ['half a gigabyte of work', ofRfc.replace('16384:8', '131072:32')],
    ['256 MiB of work', ofRfc.replace('16384:8', '131072:16')],
    ['a shorter hash', ofRfc.slice(0, -4)],
    ['more behind it', `${ofRfc}:`],
  ])('that cannot be read (%s) fits no password', async (_what, stored) => {
    expect(await fitsPassword('pleaseletmein', stored)).toBe(false);
  });

  it('of an unknown user looks like any other', () => {
    expect(unknownPasswordHash()).toMatch(/^scrypt:32768:8:1:[\w-]{22}:[\w-]{43}$/);
    expect(unknownPasswordHash()).not.toBe(unknownPasswordHash());
  });
});
