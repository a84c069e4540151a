import type { FieldFaultCode } from '@certwright/errors';
import { pointFault } from './curves';
import { rsaWeakness } from './rsa-weakness';
import { type KeyType, keyTypeOf, type PublicKey } from './subject-public-key';

export interface KeyFault {
  readonly code: FieldFaultCode &
    ('unsupported_key_type' | 'unsupported_key_size' | 'unsupported_curve' | 'weak_key' | 'malformed_csr');
  readonly message: string;
}

/** Bits of an RSA modulus; exactly these, since a modulus one bit short is a sign of a faulty generator. */
export const rsaKeySizes: readonly number[] = [2048, 3072, 4096];

const inWords = { rsa: 'RSA', ecdsa: 'ECDSA' } as const satisfies Record<KeyType, string>;

/**
 * Whether a key may be certified at all, the same for every product. A key of the wrong size or curve is not looked at
 * further: cost is bounded by the sizes that are allowed.
 */
export function judgeKey(key: PublicKey): readonly KeyFault[] {
  switch (key.kind) {
    case 'rsa': {
      if (key.modulus > 0n && !rsaKeySizes.includes(key.bits)) {
        return [
          {
            code: 'unsupported_key_size',
            message: `The RSA key has ${key.bits} bits; it must have 2048, 3072 or 4096.`,
          },
        ];
      }
      const weakness = rsaWeakness(key.modulus, key.exponent);
      return weakness === undefined
        ? []
        : [weak(`The RSA key is not safe: ${weakness}. Generate a new key.`)];
    }
    case 'ecdsa':
      return judgeEcKey(key);
    case 'other':
      return [
        {
          code: 'unsupported_key_type',
          message: `The CSR has a key of type ${key.algorithm}; it must be RSA or ECDSA.`,
        },
      ];
  }
}

function judgeEcKey({
  curve,
  curveLabel,
  point,
}: Extract<PublicKey, { kind: 'ecdsa' }>): readonly KeyFault[] {
  if (curve === undefined) {
    return [
      {
        code: 'unsupported_curve',
        message: `The ECDSA key is on ${curveLabel}; it must be on P-256 or P-384, by name.`,
      },
    ];
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

function weak(message: string): KeyFault {
  return { code: 'weak_key', message };
}
