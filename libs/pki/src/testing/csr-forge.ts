import { type KeyObject, sign } from 'node:crypto';
import { bits, fromHex, int, nul, octetString, oid, seq, set, tlv, utf8 } from './der-forge';

/** Deviations of a forged request; everything else is a correct request for example.com. */
export interface CsrParts {
  readonly version?: Uint8Array;
  readonly subject?: Uint8Array;
  readonly spki?: Uint8Array;
  /** Content of the [0]; null omits it. */
  readonly attributes?: readonly Uint8Array[] | null;
  /** Invalid bytes after the attributes. */
  readonly afterAttributes?: Uint8Array;
  readonly sans?: readonly Uint8Array[];
  readonly algorithm?: Uint8Array;
  readonly hash?: string;
  readonly signature?: Uint8Array;
}

export interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

export const dns = (name: string) => tlv(0x82, Buffer.from(name, 'latin1'));
export const attributeOfName = (type: string, value: Uint8Array) => set(seq(oid(type), value));
export const commonName = (text: string) => attributeOfName('2.5.4.3', utf8(text));

export const algorithms = {
  sha256WithRsa: seq(oid('1.2.840.113549.1.1.11'), nul()),
  ecdsaWithSha256: seq(oid('1.2.840.10045.4.3.2')),
};

export function extensionRequest(...extensions: readonly Uint8Array[]): Uint8Array {
  return seq(oid('1.2.840.113549.1.9.14'), set(seq(...extensions)));
}

export function subjectAltName(...names: readonly Uint8Array[]): Uint8Array {
  return seq(oid('2.5.29.17'), octetString(seq(...names)));
}

export function spkiOf(key: KeyObject): Uint8Array {
  return key.export({ format: 'der', type: 'spki' });
}

export function rsaSpki(modulus: Uint8Array | bigint, exponent: Uint8Array | bigint = 65537n): Uint8Array {
  const asInteger = (value: Uint8Array | bigint) =>
    typeof value === 'bigint' ? int(value) : tlv(0x02, value);
  return seq(seq(oid('1.2.840.113549.1.1.1'), nul()), bits(seq(asInteger(modulus), asInteger(exponent))));
}

export function ecSpki(parameters: Uint8Array, point: Uint8Array): Uint8Array {
  return seq(seq(oid('1.2.840.10045.2.1'), parameters), bits(point));
}

export function forgeCsr(pair: KeyPair, parts: CsrParts = {}): Buffer {
  const sans = parts.sans ?? [dns('example.com')];
  const attributes =
    parts.attributes === undefined ? [extensionRequest(subjectAltName(...sans))] : parts.attributes;
  const info = seq(
    parts.version ?? int(0),
    parts.subject ?? seq(commonName('example.com')),
    parts.spki ?? spkiOf(pair.publicKey),
    ...(attributes === null ? [] : [tlv(0xa0, ...attributes)]),
    ...(parts.afterAttributes === undefined ? [] : [parts.afterAttributes]),
  );
  const rsa = pair.privateKey.asymmetricKeyType === 'rsa';
  const algorithm = parts.algorithm ?? (rsa ? algorithms.sha256WithRsa : algorithms.ecdsaWithSha256);
  const signature = parts.signature ?? sign(parts.hash ?? 'sha256', info, pair.privateKey);
  return Buffer.from(seq(info, algorithm, bits(signature)));
}

/** A point that is on no curve is still this long on P-256. */
export const pointOffCurve = fromHex(`04${'11'.repeat(64)}`);
