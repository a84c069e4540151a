import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readPublicKey } from './index';
import { hex, int, seq, tlv } from './testing/forge';

const spkiOf = ({ publicKey }: { publicKey: KeyObject }) => publicKey.export({ type: 'spki', format: 'der' });
const oid = (digits: string) => tlv(0x06, hex(digits));
const rsaKey = oid('2a864886f70d010101');
const ecKey = oid('2a8648ce3d0201');
const bits = (...content: Uint8Array[]) => tlv(0x03, hex('00'), ...content);

/** An encoded modulus; no CA would accept any of these keys. */
const rsaOf = (modulus: string) => seq(seq(rsaKey, tlv(0x05)), bits(seq(int(modulus), int('010001'))));

describe('keys from OpenSSL', () => {
  it.each([1024, 1031, 2048, 4096])('RSA of %d bits', (modulusLength) => {
    const key = spkiOf(generateKeyPairSync('rsa', { modulusLength }));
    expect(readPublicKey(key)).toEqual({ type: 'rsa', bitLength: modulusLength });
  });

  it('RSA for PSS alone', () => {
    const key = spkiOf(generateKeyPairSync('rsa-pss', { modulusLength: 1024, hashAlgorithm: 'sha256' }));
    expect(readPublicKey(key)).toEqual({ type: 'rsa', bitLength: 1024 });
  });

  it.each([
    ['prime256v1', 'P-256'],
    ['secp384r1', 'P-384'],
    ['secp521r1', 'P-521'],
    ['secp224r1', 'unknown'],
    ['secp256k1', 'unknown'],
    ['brainpoolP256r1', 'unknown'],
  ])('EC on %s is %s', (namedCurve, curve) => {
    expect(readPublicKey(spkiOf(generateKeyPairSync('ec', { namedCurve })))).toEqual({
      type: 'ecdsa',
      curve,
    });
  });

  it('EC with explicit curve parameters', () => {
    const key = spkiOf(generateKeyPairSync('ec', { namedCurve: 'prime256v1', paramEncoding: 'explicit' }));
    expect(createPublicKey({ key, format: 'der', type: 'spki' }).asymmetricKeyType).toBe('ec');
    expect(readPublicKey(key)).toEqual({ type: 'ecdsa', curve: 'unknown' });
  });

  it.each(['ed25519', 'x25519', 'ed448'] as const)('%s is unknown', (type) => {
    expect(readPublicKey(spkiOf(generateKeyPairSync(type as 'ed25519')))).toEqual({ type: 'unknown' });
  });
});

describe('invalid keys', () => {
  it.each([
    ['a modulus with more zeros than it needs', rsaOf(`000000${'c1'.repeat(128)}`), 1024],
    ['a modulus without its zero byte', rsaOf('c1'.repeat(128)), 1024],
    ['a modulus of one bit', rsaOf('01'), 1],
    ['one without parameters', seq(seq(rsaKey), bits(seq(int('00ff'), int('03')))), 8],
    ['one that is cut off in its exponent', rsaOf('00ff').subarray(0, -3), 8],
  ])('RSA: %s', (_, der, bitLength) => {
    expect(readPublicKey(der)).toEqual({ type: 'rsa', bitLength });
  });

  it.each([
    ['no parameters', seq(seq(ecKey), bits())],
    ['NULL for parameters', seq(seq(ecKey, tlv(0x05)), bits())],
  ])('EC: %s', (_, der) => expect(readPublicKey(der)).toEqual({ type: 'ecdsa', curve: 'unknown' }));

  it.each<[string, Uint8Array]>([
    ['nothing', hex('')],
    ['no SEQUENCE', tlv(0x04, hex('00'))],
    ['an empty one', seq()],
    ['no algorithm', seq(seq(), bits())],
    ['an identifier that does not end', seq(seq(oid('2a8648ce3d82')), bits())],
    ['an empty identifier', seq(seq(oid('')), bits())],
    ['RSA with no key', seq(seq(rsaKey, tlv(0x05)))],
    ['RSA with an empty BIT STRING', seq(seq(rsaKey, tlv(0x05)), tlv(0x03))],
    ['RSA with a modulus of zero', rsaOf('0000')],
    ['RSA with an empty modulus', rsaOf('')],
    ['RSA with a key that is none', seq(seq(rsaKey, tlv(0x05)), bits(int('03')))],
  ])('unknown: %s', (_, der) => expect(readPublicKey(der)).toEqual({ type: 'unknown' }));

  it('whatever byte is another one', () => {
    const key = spkiOf(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }));
    for (let at = 0; at < key.length; at++) {
      for (const byte of [0, 1, 0x7f, 0x80, 0xff]) {
        const changed = Buffer.from(key);
        changed[at] = byte;
        expect(['rsa', 'ecdsa', 'unknown']).toContain(readPublicKey(changed).type);
      }
    }
  });
});
