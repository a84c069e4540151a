import { createHash, createPublicKey, generateKeyPair, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import type { AcceptedKeys, KeyTypeMessage } from '@certwright/agent-contract';
import { encodeInteger, encodeObjectIdentifier, encodeTlv } from '@certwright/pki';
import type { KeySettings } from '../configuration/settings';

const generate = promisify(generateKeyPair);

export interface NewKey {
  readonly privateKey: KeyObject;
  /** DER. */
  readonly pkcs8: Uint8Array;
  readonly spkiSha256: string;
}

export class KeyFault extends Error {}

const curveNames = { 'P-256': 'prime256v1', 'P-384': 'secp384r1' } as const;

/** Generates a key of the configured size, in a thread of its own: RSA takes up to seconds. */
export async function newKey(
  type: KeyTypeMessage,
  accepts: AcceptedKeys,
  settings: KeySettings,
): Promise<NewKey> {
  const { rsaBits, curve } = settings;
  if (type === 'rsa' && !accepts.rsa.includes(rsaBits))
    throw new KeyFault(
      `keys.rsa = ${rsaBits} is not accepted for this order; set it to one of ${accepts.rsa.join(', ')}`,
    );
  if (type === 'ecdsa' && !accepts.ecdsa.includes(curve))
    throw new KeyFault(
      `keys.ecdsa = "${curve}" is not accepted for this order; set it to one of ${accepts.ecdsa.join(', ')}`,
    );
  const { privateKey } =
    type === 'rsa'
      ? await generate('rsa', { modulusLength: rsaBits })
      : await generate('ec', { namedCurve: curveNames[curve] });
  return {
    privateKey,
    pkcs8: privateKey.export({ format: 'der', type: 'pkcs8' }),
    spkiSha256: createHash('sha256').update(spki(privateKey)).digest('hex'),
  };
}

const spki = (privateKey: KeyObject): Buffer =>
  createPublicKey(privateKey).export({ format: 'der', type: 'spki' });

const ids = {
  extensionRequest: encodeObjectIdentifier('1.2.840.113549.1.9.14'),
  subjectAltName: encodeObjectIdentifier('2.5.29.17'),
  sha256WithRsa: encodeObjectIdentifier('1.2.840.113549.1.1.11'),
  ecdsaWithSha256: encodeObjectIdentifier('1.2.840.10045.4.3.2'),
  ecdsaWithSha384: encodeObjectIdentifier('1.2.840.10045.4.3.3'),
};
const sequence = (...parts: readonly Uint8Array[]): Uint8Array => encodeTlv(0x30, ...parts);
const set = (...parts: readonly Uint8Array[]): Uint8Array => encodeTlv(0x31, ...parts);
const octetString = (content: Uint8Array): Uint8Array => encodeTlv(0x04, content);

/** PKCS#10 (RFC 2986): an empty subject, and these names as subject alternative names. DER. */
export function certificateRequest(privateKey: KeyObject, dnsNames: readonly string[]): Uint8Array {
  const names = sequence(...dnsNames.map((name) => encodeTlv(0x82, Buffer.from(name, 'latin1'))));
  // RFC 5280, section 4.2.1.6: critical, because the subject is empty.
  const extension = sequence(ids.subjectAltName, encodeTlv(0x01, Buffer.of(0xff)), octetString(names));
  const attribute = sequence(ids.extensionRequest, set(sequence(extension)));
  const information = sequence(encodeInteger(0n), sequence(), spki(privateKey), encodeTlv(0xa0, attribute));
  const isP384 = privateKey.asymmetricKeyDetails?.namedCurve === curveNames['P-384'];
  const digest = isP384 ? 'sha384' : 'sha256';
  const algorithm =
    privateKey.asymmetricKeyType === 'rsa'
      ? sequence(ids.sha256WithRsa, encodeTlv(0x05))
      : sequence(isP384 ? ids.ecdsaWithSha384 : ids.ecdsaWithSha256);
  const signature = sign(digest, information, privateKey);
  return sequence(information, algorithm, encodeTlv(0x03, Buffer.of(0), signature));
}
