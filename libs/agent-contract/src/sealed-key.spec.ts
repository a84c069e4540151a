import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { encodeBase64url } from './base64url';
import { hpkeSeal } from './hpke';
import { agentId, newIdentityKey, newSealingKey, rawPublicKey } from './keys';
import { type KeyBinding, openKey, type SealedKey, sealKey } from './sealed-key';

function newAgent() {
  const identity = newIdentityKey();
  const sealing = newSealingKey();
  return { identity, sealing, id: agentId(rawPublicKey(identity)) };
}
type Agent = ReturnType<typeof newAgent>;

const pkcs8Of = (key: KeyObject) => key.export({ format: 'der', type: 'pkcs8' });
const spkiOf = (key: KeyObject) =>
  createHash('sha256')
    .update(createPublicKey(key).export({ format: 'der', type: 'spki' }))
    .digest('hex');
const newEcKey = (namedCurve = 'P-256') => generateKeyPairSync('ec', { namedCurve }).privateKey;

const sender = newAgent();
const receiver = newAgent();
const key = newEcKey();
const binding: KeyBinding = {
  cluster: 'web',
  order: 'www.example.com',
  spkiSha256: spkiOf(key),
  sender: sender.id,
  receiver: receiver.id,
};

function seal(over: Partial<KeyBinding> = {}, privateKey = key, by = sender): SealedKey {
  return sealKey({
    pkcs8: pkcs8Of(privateKey),
    binding: { ...binding, ...over },
    receiverSealingKey: rawPublicKey(receiver.sealing),
    senderIdentityPrivateKey: by.identity,
  });
}

function open(sealed: SealedKey, over: Partial<KeyBinding> = {}, by: Agent = sender, at = receiver) {
  return openKey(
    sealed,
    { ...binding, ...over },
    { sealingPrivateKey: at.sealing, senderIdentityKey: rawPublicKey(by.identity) },
  );
}

const refused = (code: string) => expect.objectContaining({ name: 'ContractError', code });

it.each<[string, () => KeyObject]>([
  ['RSA 2048', () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey],
  ['P-256', () => newEcKey()],
  ['P-384', () => newEcKey('P-384')],
])('the receiver opens a key of %s', (_, newKey) => {
  const made = newKey();
  const over = { spkiSha256: spkiOf(made) };
  expect(Buffer.from(open(seal(over, made), over))).toEqual(pkcs8Of(made));
});

it.each<[string, Partial<KeyBinding>]>([
  ['cluster', { cluster: 'other' }],
  ['order', { order: 'other.example.com' }],
  ['cluster and order with the same letters', { cluster: 'webwww', order: '.example.com' }],
  ['public key', { spkiSha256: spkiOf(newEcKey()) }],
])('a key that was sealed for one %s opens as no other', (_, over) => {
  expect(() => open(seal(), over)).toThrow(refused('bad_signature'));
});

it('a key that was sealed for another receiver is refused', () => {
  const other = newAgent();
  const sealed = seal({ receiver: other.id });
  expect(() => open(sealed)).toThrow(refused('mismatch'));
  expect(() => open({ ...sealed, receiver: receiver.id })).toThrow(refused('bad_signature'));
});

it('a key that the server passes on under the name of another sender is refused', () => {
  const other = newAgent();
  expect(() => open(seal(), { sender: other.id })).toThrow(refused('mismatch'));
  expect(() => open({ ...seal(), sender: other.id }, { sender: other.id }, other)).toThrow(
    refused('bad_signature'),
  );
  expect(() => open(seal(), {}, other)).toThrow(refused('mismatch'));
});

it('a key that the server sealed itself is refused: no member signed it', () => {
  const own = newEcKey();
  const server = newAgent();
  const over = { spkiSha256: spkiOf(own), sender: server.id };
  const sealed = { ...seal(over, own, server), sender: sender.id };
  expect(() => open(sealed, { spkiSha256: spkiOf(own) })).toThrow(refused('bad_signature'));
});

it('a ciphertext that only the receiver could have is refused by another sealing key', () => {
  const swapped = { ...receiver, sealing: newSealingKey() };
  expect(() => open(seal(), {}, sender, swapped)).toThrow(refused('not_sealed_for_this'));
});

it('a change of any byte is refused', () => {
  const sealed = seal();
  for (const member of ['enc', 'ciphertext', 'signature'] as const) {
    const bytes = Buffer.from(sealed[member], 'base64url');
    for (const index of [0, Math.floor(bytes.length / 2), bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed[index] = (changed[index] ?? 0) ^ 0x80;
      expect(() => open({ ...sealed, [member]: changed.toString('base64url') })).toThrow(
        refused('bad_signature'),
      );
    }
  }
});

it.each<[string, Partial<SealedKey>]>([
  ['padding', { signature: `${seal().signature}==` }],
  ['a short enc', { enc: 'AAAA' }],
  ['an empty ciphertext', { ciphertext: '' }],
  ['a ciphertext of a megabyte', { ciphertext: 'A'.repeat(1_400_000) }],
])('%s is refused', (_, over) => {
  expect(() => open({ ...seal(), ...over })).toThrow(expect.objectContaining({ name: 'ContractError' }));
});

describe('what a member sealed is refused when it is', () => {
  /** Signed and sealed as the protocol says, without the checks of the sender. */
  function sealAnything(content: Uint8Array): SealedKey {
    const lengthOf = (bytes: Uint8Array) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return Buffer.concat([length, bytes]);
    };
    const info = Buffer.concat(
      ['certwright-sealed-key-v1', 'web', 'www.example.com', binding.spkiSha256, sender.id, receiver.id].map(
        (part) => lengthOf(Buffer.from(part)),
      ),
    );
    const { enc, ciphertext } = hpkeSeal(rawPublicKey(receiver.sealing), info, content);
    const context = Buffer.from('certwright-sealed-key-signature-v1');
    const signed = Buffer.concat([context, info, enc, ciphertext].map(lengthOf));
    return {
      sender: sender.id,
      receiver: receiver.id,
      enc: encodeBase64url(enc),
      ciphertext: encodeBase64url(ciphertext),
      signature: encodeBase64url(sign(null, signed, sender.identity)),
    };
  }

  it('not wrong in anything', () => {
    expect(Buffer.from(open(sealAnything(pkcs8Of(key))))).toEqual(pkcs8Of(key));
  });

  it('another key than the one of the order', () => {
    expect(() => open(sealAnything(pkcs8Of(newEcKey())))).toThrow(refused('mismatch'));
  });

  it('a private key beside the public key of the order', () => {
    const forged = Buffer.from(pkcs8Of(key));
    const [own, other] = [key, newEcKey()].map((one) => one.export({ format: 'jwk' }));
    const at = forged.indexOf(Buffer.from(own?.d ?? '', 'base64url'));
    expect(at).toBeGreaterThan(0);
    Buffer.from(other?.d ?? '', 'base64url').copy(forged, at);
    expect(() => open(sealAnything(forged))).toThrow(expect.objectContaining({ name: 'ContractError' }));
  });

  it.each([
    ['no key', Buffer.from('not a key')],
    ['a public key', createPublicKey(key).export({ format: 'der', type: 'spki' })],
    ['a PEM', Buffer.from(key.export({ format: 'pem', type: 'pkcs8' }))],
  ])('%s', (_, content) => {
    expect(() => open(sealAnything(content))).toThrow(refused('malformed'));
  });

  it.each<[string, KeyObject]>([
    ['Ed25519', newIdentityKey()],
    ['P-521', newEcKey('P-521')],
    ['RSA 1024', generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey],
  ])('a key of %s, which no product accepts', (_, weak) => {
    expect(() => seal({ spkiSha256: spkiOf(weak) }, weak)).toThrow(refused('malformed'));
  });
});

it('is not made for another public key or under the id of another agent', () => {
  expect(() => seal({ spkiSha256: spkiOf(newEcKey()) })).toThrow(refused('mismatch'));
  expect(() => seal({ sender: newAgent().id })).toThrow(refused('mismatch'));
});
