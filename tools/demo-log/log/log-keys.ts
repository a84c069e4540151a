import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { sha256 } from './sha256';
import { uint, vector } from './tls';
import { orAbsent, writeWhole } from './whole-file';

/** SHA-256 and ECDSA (RFC 5246, section 7.4.1.4.1). */
const algorithms = Buffer.from([4, 3]);

/** ECDSA on P-256 (RFC 6962, section 2.1.4). */
export class LogSigner {
  /** DER SubjectPublicKeyInfo. */
  readonly spkiDer: Buffer;
  /** SHA-256 over it (section 3.2). */
  readonly logId: Buffer;

  constructor(private readonly key: KeyObject) {
    this.spkiDer = createPublicKey(key).export({ type: 'spki', format: 'der' });
    this.logId = sha256(this.spkiDer);
  }

  /** The key in this file; the first start creates it, and stores it before anything is signed with it. */
  static async open(file: string): Promise<LogSigner> {
    const pem = await readFile(file, 'utf8').catch(orAbsent);
    if (pem !== null) return new LogSigner(createPrivateKey(pem));
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    await writeWhole(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), 0o600);
    return new LogSigner(privateKey);
  }

  /** A digitally-signed struct (RFC 5246, section 4.7). */
  sign(input: Uint8Array): Buffer {
    return Buffer.concat([algorithms, vector(2, sign('sha256', input, this.key))]);
  }
}

/** A SignedCertificateTimestamp (RFC 6962, section 3.2). */
export interface Sct {
  readonly logId: Buffer;
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  readonly extensions: Buffer;
  /** Digitally-signed struct. */
  readonly signature: Buffer;
}

/** As encoded in a certificate (section 3.3): version v1 and the rest. */
export function encodeSct({ logId, timestamp, extensions, signature }: Sct): Buffer {
  return Buffer.concat([uint(0, 1), logId, uint(timestamp, 8), vector(2, extensions), signature]);
}
