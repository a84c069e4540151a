import { ContractError } from './contract-error';
import { hpkeOpen, hpkeSeal } from './hpke';
import { newSealingKey, rawPublicKey, x25519PrivateKey } from './keys';

const hex = (text: string) => Buffer.from(text, 'hex');

/** RFC 9180, appendix A.2.1 (base mode of the suite) and A.2.1.1, sequence number 0. */
const vector = {
  info: hex('4f6465206f6e2061204772656369616e2055726e'),
  skEm: hex('f4ec9b33b792c372c1d2c2063507b684ef925b8c75a42dbcbf57d63ccd381600'),
  enc: hex('1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a'),
  skRm: hex('8057991eef8f1f1af18f4a9491d16a1ce333f695d4db8e38da75975c4478e0fb'),
  pkRm: hex('4310ee97d88cc1f088a5576c77ab0cf5c3ac797f3d95139c6c84b5429c59662a'),
  pt: hex('4265617574792069732074727574682c20747275746820626561757479'),
  aad: hex('436f756e742d30'),
  ct: hex('1c5250d8034ec2b784ba2cfd69dbdb8af406cfe3ff938e131f0def8c8b60b4db21993c62ce81883d2dd1b51a28'),
};

it('seals as RFC 9180, A.2.1', () => {
  const sealed = hpkeSeal(vector.pkRm, vector.info, vector.pt, {
    aad: vector.aad,
    ephemeral: x25519PrivateKey(vector.skEm),
  });
  expect(Buffer.from(sealed.enc)).toEqual(vector.enc);
  expect(Buffer.from(sealed.ciphertext)).toEqual(vector.ct);
});

it('opens the ciphertext of RFC 9180, A.2.1', () => {
  const receiver = x25519PrivateKey(vector.skRm);
  expect(Buffer.from(rawPublicKey(receiver))).toEqual(vector.pkRm);
  const message = { enc: vector.enc, ciphertext: vector.ct };
  expect(hpkeOpen(receiver, vector.info, message, { aad: vector.aad })).toEqual(vector.pt);
});

it('uses a new ephemeral key for every message', () => {
  const receiver = rawPublicKey(newSealingKey());
  const [one, two] = [1, 2].map(() => hpkeSeal(receiver, vector.info, vector.pt));
  expect(one?.enc).not.toEqual(two?.enc);
  expect(one?.ciphertext).not.toEqual(two?.ciphertext);
});

describe('a message does not open', () => {
  const receiver = newSealingKey();
  const sealed = hpkeSeal(rawPublicKey(receiver), vector.info, vector.pt);
  const refused = expect.objectContaining({ code: 'not_sealed_for_this' });

  it('with another receiver, context or aad', () => {
    expect(hpkeOpen(receiver, vector.info, sealed)).toEqual(vector.pt);
    expect(() => hpkeOpen(newSealingKey(), vector.info, sealed)).toThrow(refused);
    expect(() => hpkeOpen(receiver, hex('00'), sealed)).toThrow(refused);
    expect(() => hpkeOpen(receiver, vector.info, sealed, { aad: hex('00') })).toThrow(refused);
  });

  it('after a change of any byte', () => {
    for (const part of ['enc', 'ciphertext'] as const) {
      for (let index = 0; index < sealed[part].length; index++) {
        const changed = Uint8Array.from(sealed[part]);
        changed[index] = (changed[index] ?? 0) ^ 1;
        expect(() => hpkeOpen(receiver, vector.info, { ...sealed, [part]: changed })).toThrow(ContractError);
      }
    }
  });

  it.each([0, 15, 16])('when it is cut to %i bytes', (length) => {
    const ciphertext = sealed.ciphertext.subarray(0, length);
    expect(() => hpkeOpen(receiver, vector.info, { ...sealed, ciphertext })).toThrow(refused);
  });

  // RFC 7748, section 6.1, and the points of small order that Curve25519 has.
  it.each([
    '00'.repeat(32),
    `01${'00'.repeat(31)}`,
    'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
    '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
    `ec${'ff'.repeat(30)}7f`,
    `ed${'ff'.repeat(30)}7f`,
    `ee${'ff'.repeat(30)}7f`,
  ])('and is not sealed with a point of small order: %s', (point) => {
    const malformed = expect.objectContaining({ code: 'malformed' });
    expect(() => hpkeOpen(receiver, vector.info, { ...sealed, enc: hex(point) })).toThrow(malformed);
    expect(() => hpkeSeal(hex(point), vector.info, vector.pt)).toThrow(malformed);
  });
});
