import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync } from 'node:crypto';

/** AES-256-GCM (NIST SP 800-38D): 96-bit nonce, 128-bit tag. */
const algorithm = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
/** Of SHA-256 over the master key: says which key opens, so that keys can rotate. */
const keyIdBytes = 4;

/** What cannot be opened tells nothing more: wrong key, other context and changed bytes look the same. */
export class SealBroken extends Error {
  constructor() {
    super('the sealed value cannot be opened');
    this.name = 'SealBroken';
  }
}

/**
 * Keeps secrets at rest. A sealed value is key id ‖ nonce ‖ ciphertext ‖ tag; each is sealed under a key of its own, derived
 * from the master key and the nonce (HKDF-SHA-256, RFC 5869), so that a nonce never meets a key twice in practice.
 */
export class SealingKeys {
  private readonly byId: ReadonlyMap<string, Uint8Array>;

  /**
   * @param masterKeys 32 bytes each; the first one seals, all of them open
   * @throws Error when there is none, or one has another length
   */
  constructor(private readonly masterKeys: readonly Uint8Array[]) {
    if (masterKeys.length === 0) throw new Error('at least one sealing key is needed');
    if (masterKeys.some(({ length }) => length !== keyBytes)) throw new Error('a sealing key has 32 bytes');
    this.byId = new Map(masterKeys.map((key) => [keyIdOf(key).toString('hex'), key]));
  }

  /**
   * @param context what the value is for and whose it is; opening needs the same
   * @param nonce 12 fresh bytes from a cryptographic source
   */
  seal(plaintext: string, context: string, nonce: Uint8Array): Buffer {
    if (nonce.length !== nonceBytes) throw new Error('a nonce has 12 bytes');
    const [master] = this.masterKeys;
    if (master === undefined) throw new Error('at least one sealing key is needed');
    const cipher = createCipheriv(algorithm, derivedKey(master, nonce), nonce);
    cipher.setAAD(Buffer.from(context));
    const ciphertext = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
    return Buffer.concat([keyIdOf(master), nonce, ciphertext, cipher.getAuthTag()]);
  }

  /**
   * A keyed digest (HMAC-SHA-256): the same for the same text until another key seals. Without the key, the text cannot be
   * guessed from it.
   *
   * @param context what the digest is for
   */
  digest(text: string, context: string): Buffer {
    const [master] = this.masterKeys;
    if (master === undefined) throw new Error('at least one sealing key is needed');
    return createHmac('sha256', derivedKey(master, Buffer.from(`digest\0${context}`)))
      .update(text)
      .digest();
  }

  /** @throws SealBroken */
  open(sealed: Uint8Array, context: string): string {
    if (sealed.length < keyIdBytes + nonceBytes + tagBytes) throw new SealBroken();
    const bytes = Buffer.from(sealed);
    const master = this.byId.get(bytes.subarray(0, keyIdBytes).toString('hex'));
    if (master === undefined) throw new SealBroken();
    const nonce = bytes.subarray(keyIdBytes, keyIdBytes + nonceBytes);
    const decipher = createDecipheriv(algorithm, derivedKey(master, nonce), nonce, {
      authTagLength: tagBytes,
    });
    decipher.setAAD(Buffer.from(context));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const ciphertext = bytes.subarray(keyIdBytes + nonceBytes, -tagBytes);
      return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
    } catch {
      throw new SealBroken();
    }
  }
}

function keyIdOf(master: Uint8Array): Buffer {
  return createHash('sha256')
    .update('certwright sealing key id\0')
    .update(master)
    .digest()
    .subarray(0, keyIdBytes);
}

function derivedKey(master: Uint8Array, nonce: Uint8Array): Buffer {
  return Buffer.from(hkdfSync('sha256', master, nonce, 'certwright sealing', keyBytes));
}

/** @param text base64 of 32 bytes each, separated by commas; @returns null when one of them is anything else */
export function readSealingKeys(text: string): SealingKeys | null {
  const parts = text.split(',').map((part) => part.trim());
  const keys = parts.map((part) => Buffer.from(part, 'base64'));
  // Buffer skips what is not base64, so what was read is held against what was written.
  const hold = keys.every((key, index) => key.length === keyBytes && key.toString('base64') === parts[index]);
  return hold ? new SealingKeys(keys) : null;
}
