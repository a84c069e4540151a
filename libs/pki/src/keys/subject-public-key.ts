import type { DerElement } from '../der/der-element';
import { parseDer } from '../der/der-element';
import { DerError } from '../der/der-error';
import { tags } from '../der/der-primitives';
import { DerReader } from '../der/der-reader';
import { integerValue, isUniversal, objectIdentifierValue, bitStringBytes } from '../der/der-values';
import { sha256Hex } from '../fingerprints';
import { type CurveName, curveOfOid } from './curves';

/** The two key types of orders, as the API names them. */
export type KeyType = 'rsa' | 'ecdsa';

export type PublicKey =
  | { readonly kind: 'rsa'; readonly modulus: bigint; readonly exponent: bigint; readonly bits: number }
  | {
      readonly kind: 'ecdsa';
      /** Undefined for a curve that no product accepts, named or explicit. */
      readonly curve: CurveName | undefined;
      readonly curveLabel: string;
      /** SEC 1, section 2.3.3; not yet checked to be on the curve. */
      readonly point: Uint8Array;
    }
  | { readonly kind: 'other'; readonly algorithm: string };

export interface SubjectPublicKey {
  readonly key: PublicKey;
  /** DER of the whole SubjectPublicKeyInfo. */
  readonly spkiDer: Uint8Array;
  /** SHA-256 over `spkiDer`, lower-case hexadecimal. */
  readonly spkiSha256: string;
}

const rsaEncryption = '1.2.840.113549.1.1.1';
const ecPublicKey = '1.2.840.10045.2.1';

/** Algorithms that people do send, so that a message can name them. */
const otherAlgorithms: Readonly<Record<string, string>> = {
  '1.2.840.113549.1.1.7': 'RSAES-OAEP',
  '1.2.840.113549.1.1.10': 'RSASSA-PSS',
  '1.2.840.10040.4.1': 'DSA',
  '1.2.840.10046.2.1': 'Diffie-Hellman',
  '1.2.840.113549.1.3.1': 'Diffie-Hellman',
  '1.3.101.110': 'X25519',
  '1.3.101.111': 'X448',
  '1.3.101.112': 'Ed25519',
  '1.3.101.113': 'Ed448',
};

/** Reads a SubjectPublicKeyInfo (RFC 5280, section 4.1; algorithms of RFC 3279 and RFC 5480). Throws DerError. */
export function readSubjectPublicKey(element: DerElement): SubjectPublicKey {
  const info = DerReader.sequence(element, 'SubjectPublicKeyInfo');
  const algorithm = info.nextSequence('public key algorithm');
  const oid = objectIdentifierValue(algorithm.next('identifier'), 'the public key algorithm');
  const parameters = algorithm.optionalAny();
  algorithm.end();
  const subjectPublicKey = info.next('public key');
  info.end();
  const key = readKey(oid, parameters, bitStringBytes(subjectPublicKey, 'the public key'), element.offset);
  return { key, spkiDer: element.raw, spkiSha256: sha256Hex(element.raw) };
}

function readKey(
  oid: string,
  parameters: DerElement | undefined,
  key: Uint8Array,
  offset: number,
): PublicKey {
  if (oid === rsaEncryption) {
    // RFC 3279, section 2.3.1: the parameters are NULL, not absent.
    if (parameters === undefined || !isUniversal(parameters, tags.null)) {
      throw new DerError('an RSA public key algorithm whose parameters are not NULL', offset);
    }
    return readRsaKey(key);
  }
  if (oid === ecPublicKey) return { kind: 'ecdsa', ...readCurve(parameters), point: key };
  return { kind: 'other', algorithm: otherAlgorithms[oid] ?? oid };
}

function readRsaKey(key: Uint8Array): PublicKey {
  const reader = DerReader.sequence(parseDer(key), 'RSAPublicKey');
  const modulus = integerValue(reader.next('modulus'), 'the RSA modulus');
  const exponent = integerValue(reader.next('exponent'), 'the RSA exponent');
  reader.end();
  return { kind: 'rsa', modulus, exponent, bits: modulus > 0n ? bitLength(modulus) : 0 };
}

/**
 * RFC 5480, section 2.1.1: a named curve; explicit curves and those inherited from an issuer are no longer allowed.
 */
function readCurve(parameters: DerElement | undefined): { curve: CurveName | undefined; curveLabel: string } {
  if (parameters === undefined || !isUniversal(parameters, tags.objectIdentifier)) {
    return { curve: undefined, curveLabel: 'a curve without a name' };
  }
  return curveOfOid(objectIdentifierValue(parameters, 'the named curve'));
}

function bitLength(positive: bigint): number {
  const hex = positive.toString(16);
  return 4 * hex.length - (Math.clz32(parseInt(hex.charAt(0), 16)) - 28);
}

/** Undefined for any other key type. */
export function keyTypeOf(key: PublicKey): KeyType | undefined {
  return key.kind === 'other' ? undefined : key.kind;
}
