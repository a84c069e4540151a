import { DerCursor } from '../reading/der-cursor';

/** The algorithm of a signature, as named by `node:crypto`. */
export interface CrlSignatureAlgorithm {
  readonly kind: 'rsa' | 'rsa-pss' | 'ec' | 'ed';
  /** Null: it is part of the algorithm. */
  readonly hash: 'sha256' | 'sha384' | 'sha512' | null;
}

const tags = { sequence: 0x30, objectIdentifier: 0x06, hashAlgorithm: 0xa0 } satisfies Record<string, number>;

/**
 * By the bytes of the OBJECT IDENTIFIER: RFC 8017, 5758 and 8410. Without SHA-1 and older ones, for which an attacker may
 * find another list with the same signature.
 */
const algorithms: ReadonlyMap<string, CrlSignatureAlgorithm> = new Map([
  ['2a864886f70d01010b', { kind: 'rsa', hash: 'sha256' }],
  ['2a864886f70d01010c', { kind: 'rsa', hash: 'sha384' }],
  ['2a864886f70d01010d', { kind: 'rsa', hash: 'sha512' }],
  ['2a8648ce3d040302', { kind: 'ec', hash: 'sha256' }],
  ['2a8648ce3d040303', { kind: 'ec', hash: 'sha384' }],
  ['2a8648ce3d040304', { kind: 'ec', hash: 'sha512' }],
  ['2b6570', { kind: 'ed', hash: null }],
  ['2b6571', { kind: 'ed', hash: null }],
]);

/** id-RSASSA-PSS: its parameters name the hash (RFC 8017, appendix A.2.3). */
const pss = '2a864886f70d01010a';

/** 2.16.840.1.101.3.4.2.1 and the two after it. */
const hashes: ReadonlyMap<string, 'sha256' | 'sha384' | 'sha512'> = new Map([
  ['608648016503040201', 'sha256'],
  ['608648016503040202', 'sha384'],
  ['608648016503040203', 'sha512'],
]);

/** Null: not accepted. @param der AlgorithmIdentifier */
export function readSignatureAlgorithm(der: Buffer): CrlSignatureAlgorithm | null {
  const cursor = new DerCursor(der);
  const id = identifier(cursor, 0, der.length);
  if (id !== pss) return algorithms.get(id) ?? null;
  if (!cursor.moveTo(cursor.next, der.length) || cursor.tag !== tags.sequence) return null;
  if (!cursor.moveTo(cursor.start, cursor.end) || cursor.tag !== tags.hashAlgorithm) return null;
  const hash = hashes.get(identifier(cursor, cursor.start, cursor.end));
  return hash === undefined ? null : { kind: 'rsa-pss', hash };
}

/** Hash OIDs in the AlgorithmIdentifier; hexadecimal. */
function identifier(cursor: DerCursor, start: number, end: number): string {
  if (!cursor.moveTo(start, end) || cursor.tag !== tags.sequence) return '';
  if (!cursor.moveTo(cursor.start, cursor.end) || cursor.tag !== tags.objectIdentifier) return '';
  return cursor.bytes.toString('hex', cursor.start, cursor.end);
}
