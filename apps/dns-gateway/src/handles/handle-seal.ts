import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { Problem } from '@certwright/errors';

/**
 * A handle is `prefix base64url(key id ‖ salt ‖ nonce ‖ ciphertext ‖ tag)`, AES-256-GCM (NIST SP 800-38D). Each
 * handle has its own key: HKDF-SHA-256 (RFC 5869) from a master key and the salt. All handles of a kind have the
 * same length.
 */
const algorithm = 'aes-256-gcm';
export const masterKeyBytes = 32;
/** Start of SHA-256 over a label and the master key. */
const keyIdBytes = 4;
const saltBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const frameBytes = keyIdBytes + saltBytes + nonceBytes + tagBytes;
/** The length of the content precedes it; the rest is padding. */
const lengthBytes = 2;

export interface HandleKind {
  readonly name: 'integration' | 'record';
  /** Identifies the handle to people and secret scanners. */
  readonly prefix: string;
  /** Member of the request that contains it. */
  readonly field: string;
  /** Length of the padded plaintext, in bytes. */
  readonly size: number;
}

/** Changes with the format of the content or of the frame: a handle of another version does not open. */
const version = 1;

export const handleKinds = {
  integration: { name: 'integration', prefix: 'cwi1.', field: 'integration', size: 4_096 },
  /** A TXT value of 512 bytes, a name, a zone's name and its id at the provider, with JSON escapes. */
  record: { name: 'record', prefix: 'cwr1.', field: 'record_handle', size: 3_072 },
} as const satisfies Record<string, HandleKind>;

/** Max length of the content, in bytes of UTF-8. */
export const maxContentBytes = ({ size }: HandleKind): number => size - lengthBytes;

export interface MasterKey {
  readonly id: Buffer;
  readonly bytes: Buffer;
}

export function masterKey(bytes: Buffer): MasterKey {
  const id = createHash('sha256').update('certwright gateway handle key id\0').update(bytes).digest();
  return { id: id.subarray(0, keyIdBytes), bytes };
}

/**
 * @param content at most `maxContentBytes(kind)` bytes
 * @param binding owner of the handle, see `bindingOf`
 */
export function seal(
  content: Buffer,
  kind: HandleKind,
  binding: readonly string[],
  master: MasterKey,
): string {
  const padded = Buffer.alloc(kind.size);
  padded.writeUInt16BE(content.length);
  content.copy(padded, lengthBytes);
  const salt = randomBytes(saltBytes);
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, derivedKey(master, salt, kind), nonce);
  cipher.setAAD(associatedData(kind, binding));
  const ciphertext = Buffer.concat([cipher.update(padded), cipher.final()]);
  const frame = Buffer.concat([master.id, salt, nonce, ciphertext, cipher.getAuthTag()]);
  return kind.prefix + frame.toString('base64url');
}

/**
 * @returns the content, and the key that it was sealed under
 * @throws Problem `bad_handle`, the same for every reason
 */
export function open(
  text: string,
  kind: HandleKind,
  binding: readonly string[],
  masters: readonly MasterKey[],
): { readonly content: Buffer; readonly master: MasterKey } {
  const frame = frameIn(text, kind);
  const master = masters.find(({ id }) => id.equals(frame.subarray(0, keyIdBytes)));
  if (master === undefined) throw badHandle(kind);
  const salt = frame.subarray(keyIdBytes, keyIdBytes + saltBytes);
  const nonce = frame.subarray(keyIdBytes + saltBytes, keyIdBytes + saltBytes + nonceBytes);
  const decipher = createDecipheriv(algorithm, derivedKey(master, salt, kind), nonce, {
    authTagLength: tagBytes,
  });
  decipher.setAAD(associatedData(kind, binding));
  decipher.setAuthTag(frame.subarray(-tagBytes));
  let padded: Buffer;
  try {
    const ciphertext = frame.subarray(keyIdBytes + saltBytes + nonceBytes, -tagBytes);
    padded = Buffer.concat([decipher.update(ciphertext), decipher.final()]);
  } catch {
    throw badHandle(kind);
  }
  return { content: padded.subarray(lengthBytes, lengthBytes + padded.readUInt16BE()), master };
}

/** Accepts exactly one text per frame: no other prefix, length, alphabet, padding or unused bits. */
function frameIn(text: string, kind: HandleKind): Buffer {
  const { prefix, size } = kind;
  const encoded = text.startsWith(prefix) ? text.slice(prefix.length) : '';
  if (encoded.length !== Math.ceil(((size + frameBytes) * 4) / 3)) throw badHandle(kind);
  const frame = Buffer.from(encoded, 'base64url');
  // Buffer skips characters that are not base64url, so the decoded bytes are encoded again and compared.
  if (frame.toString('base64url') !== encoded) throw badHandle(kind);
  return frame;
}

/** As JSON, so that different lists of strings never have the same text. */
const associatedData = (kind: HandleKind, binding: readonly string[]): Buffer =>
  Buffer.from(JSON.stringify(['certwright gateway handle', version, kind.name, ...binding]));

const derivedKey = (master: MasterKey, salt: Buffer, kind: HandleKind): Buffer =>
  Buffer.from(
    hkdfSync('sha256', master.bytes, salt, `certwright gateway ${kind.name} handle`, masterKeyBytes),
  );

/** A wrong key, another owner, another kind and a changed text are indistinguishable. */
export const badHandle = ({ field }: HandleKind): Problem =>
  new Problem('bad_handle', 'The handle does not open for this account, integration and provider.', {
    field,
  });
