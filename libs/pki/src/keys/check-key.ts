import { curveNames, pointFault } from './curves';
import { rsaWeakness, type RsaWeakness } from './rsa-weakness';
import { type KeyType, keyTypeOf, type PublicKey } from './subject-public-key';

/** Why a key may not be certified. `code` is the API's error code. */
export type KeyFault =
  /** `keyType`: `RSA`, `ECDSA`, or the name of another algorithm. */
  | {
      readonly code: 'unsupported_key_type';
      readonly keyType: string;
      readonly allowed: readonly KeyType[];
    }
  /** The request states a key type that differs from its key. */
  | { readonly code: 'unsupported_key_type'; readonly actual: KeyType; readonly wanted: KeyType }
  | {
      readonly code: 'unsupported_key_size';
      readonly bits: number;
      readonly allowed: readonly number[];
    }
  | { readonly code: 'unsupported_curve'; readonly curve: string; readonly allowed: readonly string[] }
  /** Not an uncompressed point (RFC 5480, section 2.2). */
  | { readonly code: 'malformed_csr'; readonly fault: 'point'; readonly curve: string }
  | { readonly code: 'weak_key'; readonly weakness: RsaWeakness }
  | { readonly code: 'weak_key'; readonly weakness: 'not_on_curve'; readonly curve: string };

/** Bits of an RSA modulus; exactly these, since a modulus one bit shorter indicates a faulty generator. */
export const rsaKeySizes: readonly number[] = [2048, 3072, 4096];

/** Keys that the CA accepts, among those that may be certified; an empty list: no key of this type. */
export interface KeyRules {
  /** Bits. */
  readonly rsaSizes: readonly number[];
  /** `P-256`, `P-384`. */
  readonly curves: readonly string[];
}

const everyKey: KeyRules = { rsaSizes: rsaKeySizes, curves: curveNames };

/**
 * Whether a key may be certified. A key of the wrong size or curve is not checked further: the allowed sizes bound
 * the cost.
 *
 * @param rules omitted: every key that may be certified
 */
export function checkKey(key: PublicKey, rules: KeyRules = everyKey): readonly KeyFault[] {
  switch (key.kind) {
    case 'rsa':
      return checkRsaKey(key, rules);
    case 'ecdsa':
      return checkEcKey(key, rules);
    case 'other':
      return [unsupportedType(key.algorithm, rules)];
  }
}

type KeyOf<K extends PublicKey['kind']> = Extract<PublicKey, { kind: K }>;

function checkRsaKey({ modulus, exponent, bits }: KeyOf<'rsa'>, rules: KeyRules): readonly KeyFault[] {
  const sizes = rules.rsaSizes.filter((size) => rsaKeySizes.includes(size));
  if (sizes.length === 0) return [unsupportedType('RSA', rules)];
  if (modulus > 0n && !sizes.includes(bits)) {
    return [{ code: 'unsupported_key_size', bits, allowed: sizes }];
  }
  const weakness = rsaWeakness(modulus, exponent);
  return weakness === undefined ? [] : [{ code: 'weak_key', weakness }];
}

function checkEcKey({ curve, curveLabel, point }: KeyOf<'ecdsa'>, rules: KeyRules): readonly KeyFault[] {
  const taken = curveNames.filter((name) => rules.curves.includes(name));
  if (taken.length === 0) return [unsupportedType('ECDSA', rules)];
  if (curve === undefined || !taken.includes(curve)) {
    return [{ code: 'unsupported_curve', curve: curveLabel, allowed: taken }];
  }
  switch (pointFault(curve, point)) {
    case undefined:
      return [];
    case 'not_uncompressed':
      return [{ code: 'malformed_csr', fault: 'point', curve }];
    case 'not_on_curve':
      return [{ code: 'weak_key', weakness: 'not_on_curve', curve }];
  }
}

/** An order states its key type; a request with another one would silently change it. */
export function checkKeyType(key: PublicKey, wanted: KeyType | undefined): readonly KeyFault[] {
  const actual = keyTypeOf(key);
  if (wanted === undefined || actual === undefined || actual === wanted) return [];
  return [{ code: 'unsupported_key_type', actual, wanted }];
}

function unsupportedType(keyType: string, { rsaSizes, curves }: KeyRules): KeyFault {
  const allowed: KeyType[] = [];
  if (rsaSizes.length > 0) allowed.push('rsa');
  if (curves.length > 0) allowed.push('ecdsa');
  return { code: 'unsupported_key_type', keyType, allowed };
}
