import { unsignedInteger } from '../der/der-values';

export const curveNames = ['P-256', 'P-384'] as const;
export type CurveName = (typeof curveNames)[number];

/** y² = x³ − 3x + b over the field of p elements; both curves have cofactor 1 (SP 800-186, section 3.2.1). */
interface Curve {
  readonly p: bigint;
  readonly b: bigint;
  readonly fieldBytes: number;
}

const curves: Readonly<Record<CurveName, Curve>> = {
  'P-256': {
    p: 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n,
    b: 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn,
    fieldBytes: 32,
  },
  'P-384': {
    p: 2n ** 384n - 2n ** 128n - 2n ** 96n + 2n ** 32n - 1n,
    b: 0xb3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8edd3ec2aefn,
    fieldBytes: 48,
  },
};

const taken: Readonly<Record<string, CurveName>> = {
  '1.2.840.10045.3.1.7': 'P-256',
  '1.3.132.0.34': 'P-384',
};

/** Curves that people do send, so that a message can name them. */
const notTaken: Readonly<Record<string, string>> = {
  '1.3.132.0.10': 'secp256k1',
  '1.3.132.0.33': 'P-224',
  '1.3.132.0.35': 'P-521',
  '1.2.840.10045.3.1.1': 'P-192',
  '1.3.36.3.3.2.8.1.1.7': 'brainpoolP256r1',
  '1.3.36.3.3.2.8.1.1.11': 'brainpoolP384r1',
};

export function curveOfOid(oid: string): { curve: CurveName | undefined; curveLabel: string } {
  const curve = taken[oid];
  return { curve, curveLabel: curve ?? notTaken[oid] ?? `the curve ${oid}` };
}

export type PointFault = 'not_uncompressed' | 'not_on_curve';

/**
 * SP 800-56A, section 5.6.2.3.4, partial validation; with a cofactor of 1 it is the full one. The point at infinity has no
 * uncompressed form.
 */
export function pointFault(curve: CurveName, point: Uint8Array): PointFault | undefined {
  const { p, b, fieldBytes } = curves[curve];
  if (point[0] !== 0x04 || point.length !== 1 + 2 * fieldBytes) return 'not_uncompressed';
  const x = unsignedInteger(point.subarray(1, 1 + fieldBytes));
  const y = unsignedInteger(point.subarray(1 + fieldBytes));
  if (x >= p || y >= p) return 'not_on_curve';
  return (y * y - (x * x - 3n) * x - b) % p === 0n ? undefined : 'not_on_curve';
}
