import { createHash, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  agentId,
  encodeBase64url,
  newIdentityKey,
  newSealingKey,
  openKey,
  rawPrivateKey,
  rawPublicKey,
  type SealedKey,
  sealKey,
} from '@certwright/agent-contract';
import { hasCryptography, runAgent } from './python';

const whole = hasCryptography() ? describe : describe.skip;
if (!hasCryptography()) console.warn('Skipped: python3-cryptography not installed (tools/test/peers.sh).');

function newAgent() {
  const identity = newIdentityKey();
  return { identity, sealing: newSealingKey(), id: agentId(rawPublicKey(identity)) };
}

whole('the agent in Python', () => {
  const [sender, receiver] = [newAgent(), newAgent()];
  const key = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
  const pkcs8 = key.export({ format: 'der', type: 'pkcs8' });
  const order = 'müller/…';
  const binding = {
    cluster: 'web',
    order,
    spkiSha256: spkiOf(key),
    sender: sender.id,
    receiver: receiver.id,
  };

  function open(message: SealedKey, over: object = {}) {
    const given = {
      cluster: 'web',
      order,
      spki_sha256: binding.spkiSha256,
      receiver: receiver.id,
      sealing: encodeBase64url(rawPrivateKey(receiver.sealing)),
      sender_identity_key: encodeBase64url(rawPublicKey(sender.identity)),
      message,
      ...over,
    };
    return runAgent(['open'], JSON.stringify(given));
  }

  const seal = (over: object = {}) =>
    sealKey({
      pkcs8,
      binding: { ...binding, ...over },
      receiverSealingKey: rawPublicKey(receiver.sealing),
      senderIdentityPrivateKey: sender.identity,
    });

  it('computes the test vectors of the document', async () => {
    const document = readFileSync(path.join(__dirname, '../../docs/agent-protocol.md'), 'utf8');
    const [, block = ''] = /## Test vectors[\s\S]*```json\n([\s\S]*?)```/.exec(document) ?? [];
    // An ECDSA signature is another one each time.
    const { csr: _, ...expected } = JSON.parse(block) as Record<string, unknown>;
    expect(JSON.parse(await runAgent(['vectors']))).toEqual(expected);
  });

  it('opens what libs/agent-contract seals', async () => {
    const opened = JSON.parse(await open(seal())) as { pkcs8: string };
    expect(opened.pkcs8).toBe(pkcs8.toString('base64'));
  });

  it('seals what libs/agent-contract opens', async () => {
    const given = {
      pkcs8: pkcs8.toString('base64'),
      cluster: 'web',
      order,
      spki_sha256: binding.spkiSha256,
      identity: encodeBase64url(rawPrivateKey(sender.identity)),
      receiver: receiver.id,
      receiver_sealing_key: encodeBase64url(rawPublicKey(receiver.sealing)),
    };
    const sealed = JSON.parse(await runAgent(['seal'], JSON.stringify(given))) as SealedKey;
    const opened = openKey(sealed, binding, {
      sealingPrivateKey: receiver.sealing,
      senderIdentityKey: rawPublicKey(sender.identity),
    });
    expect(opened).toEqual(pkcs8);
  });

  it('refuses what was sealed for another order, receiver or key, or by another sender', async () => {
    await expect(open(seal(), { order: 'other' })).rejects.toThrow('Refused');
    await expect(open(seal(), { cluster: 'other' })).rejects.toThrow('Refused');
    await expect(open(seal({ receiver: newAgent().id }))).rejects.toThrow('Refused');
    const sealing = encodeBase64url(rawPrivateKey(newSealingKey()));
    await expect(open(seal(), { sealing })).rejects.toThrow('Refused');
    const other = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
    await expect(open(seal(), { spki_sha256: spkiOf(other) })).rejects.toThrow('Refused');
    const stranger = encodeBase64url(rawPublicKey(newIdentityKey()));
    await expect(open(seal(), { sender_identity_key: stranger })).rejects.toThrow('Refused');
  });
});

function spkiOf(key: KeyObject) {
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' });
  return createHash('sha256').update(spki).digest('hex');
}
