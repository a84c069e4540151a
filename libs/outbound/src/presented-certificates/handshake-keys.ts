import { createDecipheriv, createHmac, type DecipherGCM } from 'node:crypto';

/** How TLS 1.3 protects its handshake (RFC 8446 §7.3), per cipher suite (appendix B.4). */
interface Suite {
  readonly hash: 'sha256' | 'sha384';
  readonly cipher: 'aes-128-gcm' | 'aes-256-gcm' | 'chacha20-poly1305';
  readonly keyBytes: number;
}

const suites: Readonly<Record<number, Suite>> = {
  0x1301: { hash: 'sha256', cipher: 'aes-128-gcm', keyBytes: 16 },
  0x1302: { hash: 'sha384', cipher: 'aes-256-gcm', keyBytes: 32 },
  0x1303: { hash: 'sha256', cipher: 'chacha20-poly1305', keyBytes: 32 },
};

const nonceBytes = 12;
const tagBytes = 16;

/** The content of a protected record. */
export interface InnerRecord {
  readonly type: number;
  readonly fragment: Buffer;
}

/** Decrypts the records that a server sends under its handshake traffic secret, in order. */
export class HandshakeKeys {
  readonly #suite: Suite;
  readonly #key: Buffer;
  readonly #iv: Buffer;
  #sequenceNumber = 0;

  private constructor(suite: Suite, secret: Buffer) {
    this.#suite = suite;
    this.#key = expandLabel(suite, secret, 'key', suite.keyBytes);
    this.#iv = expandLabel(suite, secret, 'iv', nonceBytes);
  }

  /** @returns null for a suite that is not supported */
  static of(cipherSuite: number, secret: Buffer): HandshakeKeys | null {
    const suite = suites[cipherSuite];
    return suite === undefined ? null : new HandshakeKeys(suite, secret);
  }

  /** @returns null when the record was not encrypted with these keys */
  open(header: Buffer, sealed: Buffer): InnerRecord | null {
    if (sealed.length <= tagBytes) return null;
    const { cipher } = this.#suite;
    // All three are AEADs with the same API, but the types name each one.
    const decipher = createDecipheriv(cipher as 'aes-128-gcm', this.#key, this.#nonce(), {
      authTagLength: tagBytes,
    }) as DecipherGCM;
    decipher.setAAD(header).setAuthTag(sealed.subarray(-tagBytes));
    const opened = decipher.update(sealed.subarray(0, -tagBytes));
    try {
      decipher.final();
    } catch {
      return null;
    }
    this.#sequenceNumber += 1;
    // RFC 8446 §5.2: the content, its type, and any number of zeros.
    const at = opened.findLastIndex((byte) => byte !== 0);
    return at < 0 ? null : { type: opened[at] ?? 0, fragment: opened.subarray(0, at) };
  }

  /** RFC 8446 §5.3. A handshake of 64 KiB needs only the last four bytes of the number. */
  #nonce(): Buffer {
    const nonce = Buffer.from(this.#iv);
    const last = nonceBytes - 4;
    nonce.writeUInt32BE((nonce.readUInt32BE(last) ^ this.#sequenceNumber) >>> 0, last);
    return nonce;
  }
}

/** HKDF-Expand-Label with an empty context (RFC 8446 §7.1); one HMAC block is enough for a key. */
function expandLabel({ hash }: Suite, secret: Buffer, name: string, bytes: number): Buffer {
  const label = Buffer.from(`tls13 ${name}`, 'ascii');
  const info = Buffer.concat([Buffer.of(0, bytes, label.length), label, Buffer.of(0, 1)]);
  return createHmac(hash, secret).update(info).digest().subarray(0, bytes);
}
