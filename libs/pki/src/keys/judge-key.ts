import type { FieldFaultCode } from '@certwright/errors';
import { curveNames, pointFault } from './curves';
import { rsaWeakness } from './rsa-weakness';
import { type KeyType, keyTypeOf, type PublicKey } from './subject-public-key';

export interface KeyFault {
  readonly code: FieldFaultCode &
    ('unsupported_key_type' | 'unsupported_key_size' | 'unsupported_curve' | 'weak_key' | 'malformed_csr');
  readonly message: string;
}

/** Bits of an RSA modulus; exactly these, since a modulus one bit short is a sign of a faulty generator. */
export const rsaKeySizes: readonly number[] = [2048, 3072, 4096];

/** What whoever certifies takes, of what may be certified at all; an empty list: no key of this type. */
export interface KeyRules {
  /** Bits. */
  readonly rsaSizes: readonly number[];
  /** `P-256`, `P-384`. */
  readonly curves: readonly string[];
}

const everyKey: KeyRules = { rsaSizes: rsaKeySizes, curves: curveNames };

const inWords = { rsa: 'RSA', ecdsa: 'ECDSA' } as const satisfies Record<KeyType, string>;

/**
 * Whether a key may be certified. A key of the wrong size or curve is not looked at further: cost is bounded by the sizes
 * that are allowed.
 *
 * @param rules left out: what may be certified at all
 */
export function judgeKey(key: PublicKey, rules: KeyRules = everyKey): readonly KeyFault[] {
  switch (key.kind) {
    case 'rsa':
      return judgeRsaKey(key, rules);
    case 'ecdsa':
      return judgeEcKey(key, rules);
    case 'other':
      return [unsupportedType(`The CSR has a key of type ${key.algorithm}`, rules)];
  }
}

type KeyOf<K extends PublicKey['kind']> = Extract<PublicKey, { kind: K }>;

function judgeRsaKey({ modulus, exponent, bits }: KeyOf<'rsa'>, rules: KeyRules): readonly KeyFault[] {
  const sizes = rules.rsaSizes.filter((size) => rsaKeySizes.includes(size));
  if (sizes.length === 0) return [unsupportedType('The CSR has an RSA key', rules)];
  if (modulus > 0n && !sizes.includes(bits)) {
    const message = `The RSA key has ${bits} bits; it must have ${either(sizes)}.`;
    return [{ code: 'unsupported_key_size', message }];
  }
  const weakness = rsaWeakness(modulus, exponent);
  return weakness === undefined ? [] : [weak(`The RSA key is not safe: ${weakness}. Generate a new key.`)];
}

function judgeEcKey({ curve, curveLabel, point }: KeyOf<'ecdsa'>, rules: KeyRules): readonly KeyFault[] {
  const taken = curveNames.filter((name) => rules.curves.includes(name));
  if (taken.length === 0) return [unsupportedType('The CSR has an ECDSA key', rules)];
  if (curve === undefined || !taken.includes(curve)) {
    const message = `The ECDSA key is on ${curveLabel}; it must be on ${either(taken)}, by name.`;
    return [{ code: 'unsupported_curve', message }];
  }
  switch (pointFault(curve, point)) {
    case undefined:
      return [];
    case 'not_uncompressed':
      return [
        {
          code: 'malformed_csr',
          message: `The ECDSA key is not an uncompressed point of ${curve} (RFC 5480, section 2.2).`,
        },
      ];
    case 'not_on_curve':
      return [weak(`The ECDSA key is not a point on ${curve}. Generate a new key.`)];
  }
}

/** An order states its key type; a request for another one would silently change what the caller has asked for. */
export function judgeKeyType(key: PublicKey, wanted: KeyType | undefined): readonly KeyFault[] {
  const actual = keyTypeOf(key);
  if (wanted === undefined || actual === undefined || actual === wanted) return [];
  return [
    {
      code: 'unsupported_key_type',
      message: `The CSR has an ${inWords[actual]} key, but the order's key_type is ${wanted} (${inWords[wanted]}).`,
    },
  ];
}

function unsupportedType(what: string, { rsaSizes, curves }: KeyRules): KeyFault {
  const types = [rsaSizes.length > 0 ? inWords.rsa : '', curves.length > 0 ? inWords.ecdsa : ''];
  const message = `${what}; it must be ${either(types.filter((type) => type !== ''))}.`;
  return { code: 'unsupported_key_type', message };
}

/** `2048, 3072 or 4096` */
function either(choices: readonly (string | number)[]): string {
  const last = choices.at(-1) ?? '';
  return choices.length < 2 ? String(last) : `${choices.slice(0, -1).join(', ')} or ${last}`;
}

function weak(message: string): KeyFault {
  return { code: 'weak_key', message };
}
