import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { DerElement } from './der/der-element';
import { tags } from './der/der-primitives';
import { DerReader } from './der/der-reader';
import { isUniversal, objectIdentifierValue } from './der/der-values';
import { encodePem } from './pem';

interface AcceptedAlgorithm {
  readonly name: string;
  readonly key: 'rsa' | 'ec';
  readonly hash: 'sha256' | 'sha384' | 'sha512';
}

/** Accepted algorithms of requests and certificates (Baseline Requirements, section 7.1.3.2, without RSASSA-PSS). */
const accepted: Readonly<Record<string, AcceptedAlgorithm>> = {
  '1.2.840.113549.1.1.11': { name: 'sha256WithRSAEncryption', key: 'rsa', hash: 'sha256' },
  '1.2.840.113549.1.1.12': { name: 'sha384WithRSAEncryption', key: 'rsa', hash: 'sha384' },
  '1.2.840.113549.1.1.13': { name: 'sha512WithRSAEncryption', key: 'rsa', hash: 'sha512' },
  '1.2.840.10045.4.3.2': { name: 'ecdsa-with-SHA256', key: 'ec', hash: 'sha256' },
  '1.2.840.10045.4.3.3': { name: 'ecdsa-with-SHA384', key: 'ec', hash: 'sha384' },
  '1.2.840.10045.4.3.4': { name: 'ecdsa-with-SHA512', key: 'ec', hash: 'sha512' },
};

/** Other algorithms in use, so that a message can name them. */
const refused: Readonly<Record<string, string>> = {
  '1.2.840.113549.1.1.2': 'md2WithRSAEncryption',
  '1.2.840.113549.1.1.4': 'md5WithRSAEncryption',
  '1.2.840.113549.1.1.5': 'sha1WithRSAEncryption',
  '1.2.840.113549.1.1.10': 'RSASSA-PSS',
  '1.2.840.113549.1.1.14': 'sha224WithRSAEncryption',
  '1.2.840.10040.4.3': 'dsa-with-SHA1',
  '2.16.840.1.101.3.4.3.2': 'dsa-with-SHA256',
  '1.2.840.10045.4.1': 'ecdsa-with-SHA1',
  '1.2.840.10045.4.3.1': 'ecdsa-with-SHA224',
  '1.3.101.112': 'Ed25519',
  '1.3.101.113': 'Ed448',
};

export interface SignatureAlgorithm {
  readonly name: string;
  /** Undefined for an algorithm that is not accepted, or whose parameters its RFC does not allow. */
  readonly accepted: AcceptedAlgorithm | undefined;
}

/**
 * Reads an AlgorithmIdentifier. Throws DerError for any other structure; the result states whether it is accepted.
 *
 * @param ecdsaNull requests only: mbedTLS writes NULL as the parameters of ECDSA; RFC 5758, section 3.2, requires
 *   none
 */
export function readSignatureAlgorithm(element: DerElement, ecdsaNull = false): SignatureAlgorithm {
  const reader = DerReader.sequence(element, 'the signature algorithm');
  const oid = objectIdentifierValue(reader.next('identifier'), 'the signature algorithm');
  const parameters = reader.optionalAny();
  reader.end();
  const algorithm = accepted[oid];
  if (algorithm === undefined) return { name: refused[oid] ?? oid, accepted: undefined };
  const isNull = parameters !== undefined && isUniversal(parameters, tags.null);
  // NULL with RSA. RFC 4055, section 5, lets readers accept none, which no known software writes.
  const allowed = algorithm.key === 'rsa' ? isNull : parameters === undefined || (ecdsaNull && isNull);
  return allowed
    ? { name: algorithm.name, accepted: algorithm }
    : { name: `${algorithm.name} with wrong parameters`, accepted: undefined };
}

/**
 * Whether the signature over these bytes is valid for the key. Never throws: false for a key that OpenSSL rejects, and
 * for an RSA key that no CA uses because it would take long.
 * ECDSA signatures must be DER (RFC 3279, section 2.2.3), so that no second encoding of one is accepted.
 */
export function verifySignature(
  spkiDer: Uint8Array,
  algorithm: AcceptedAlgorithm,
  signed: Uint8Array,
  signature: Uint8Array,
): boolean {
  const key = importKey(spkiDer);
  if (key === undefined || key.asymmetricKeyType !== algorithm.key || isCostly(key)) return false;
  try {
    return verify(algorithm.hash, signed, key, signature);
  } catch {
    return false;
  }
}

/**
 * CAs use up to 8192 bits, and the exponent 65537 or 3. Callers choose both in an imported chain, where OpenSSL takes up
 * to 20 ms for one signature.
 */
const maxRsaBits = 8192;
const maxRsaExponent = 2n ** 32n;

function isCostly({ asymmetricKeyDetails: { modulusLength = 0, publicExponent = 0n } = {} }: KeyObject) {
  return modulusLength > maxRsaBits || publicExponent > maxRsaExponent;
}

/** The key of an issuer verifies many certificates. */
const importedKeys = new WeakMap<Uint8Array, KeyObject>();

function importKey(spkiDer: Uint8Array): KeyObject | undefined {
  const imported = importedKeys.get(spkiDer);
  if (imported !== undefined) return imported;
  try {
    // PEM: DER is passed within an object, and Node takes longer to examine that than to read the key.
    const key = createPublicKey(encodePem('PUBLIC KEY', spkiDer));
    importedKeys.set(spkiDer, key);
    return key;
  } catch {
    return undefined;
  }
}
