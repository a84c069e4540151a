import { createPublicKey, type KeyObject } from 'node:crypto';
import { sha256 } from '@certwright/pki';

/** A log's public key, for verification. */
export interface LogKey {
  /** SHA-256 over the DER SubjectPublicKeyInfo (RFC 6962, section 3.2). */
  readonly logId: Buffer;
  readonly algorithm: 'ecdsa' | 'rsa';
  readonly publicKey: KeyObject;
}

/** RFC 6962, section 2.1.4: ECDSA on P-256, or RSA of at least 2048 bits. */
const minRsaBits = 2048;

/** Null for an invalid SubjectPublicKeyInfo or a key type that logs must not use. */
export function readLogKey(spkiDer: Uint8Array): LogKey | null {
  const publicKey = publicKeyOf(spkiDer);
  const logId = sha256(spkiDer);
  const { namedCurve, modulusLength = 0 } = publicKey?.asymmetricKeyDetails ?? {};
  if (publicKey?.asymmetricKeyType === 'ec' && namedCurve === 'prime256v1')
    return { logId, algorithm: 'ecdsa', publicKey };
  if (publicKey?.asymmetricKeyType === 'rsa' && modulusLength >= minRsaBits)
    return { logId, algorithm: 'rsa', publicKey };
  return null;
}

function publicKeyOf(spkiDer: Uint8Array): KeyObject | null {
  try {
    return createPublicKey({ key: Buffer.from(spkiDer), format: 'der', type: 'spki' });
  } catch {
    return null;
  }
}
