import { isUtf8 } from 'node:buffer';
import { fromBase64 } from '../bytes';

export interface NoteSignature {
  readonly keyName: string;
  /** First four bytes of the digest that identifies the key, big-endian. */
  readonly keyId: number;
  readonly signature: Buffer;
}

export interface Note {
  /** Including its last line feed, without the empty line before the signatures. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/**
 * Why bytes are not a signed note: too many; invalid UTF-8 or control characters; no empty line followed by
 * signatures; an invalid signature line.
 */
export type NoteFault = 'note_size' | 'note_characters' | 'note_form' | 'signature_line';

export type NoteReading =
  { readonly ok: true; readonly note: Note } | { readonly ok: false; readonly fault: NoteFault };

/** Max bytes: sixteen post-quantum signatures of 5 kB in base64, the minimum that signed-note requires, fit well. */
const maxNoteLength = 256 * 1024;

const keyIdBytes = 4;

/** U+2014 and a space. */
const signatureStart = '\u2014 ';

/** Parses a signed note (c2sp.org/signed-note, "Format"). Nothing is verified: the text must not be trusted yet. */
export function readNote(bytes: Uint8Array): NoteReading {
  if (bytes.length > maxNoteLength) return { ok: false, fault: 'note_size' };
  if (!isUtf8(bytes)) return { ok: false, fault: 'note_characters' };
  const whole = Buffer.from(bytes).toString('utf8');
  if (/[\0-\x09\x0b-\x1f]/.test(whole)) return { ok: false, fault: 'note_characters' };
  const split = whole.lastIndexOf('\n\n');
  if (split < 0 || split + 2 === whole.length || !whole.endsWith('\n'))
    return { ok: false, fault: 'note_form' };
  const signatures: NoteSignature[] = [];
  for (const line of whole.slice(split + 2, -1).split('\n')) {
    const signature = readSignatureLine(line);
    if (signature === null) return { ok: false, fault: 'signature_line' };
    signatures.push(signature);
  }
  return { ok: true, note: { text: whole.slice(0, split + 1), signatures } };
}

function readSignatureLine(line: string): NoteSignature | null {
  if (!line.startsWith(signatureStart)) return null;
  const [keyName = '', base64, ...more] = line.slice(signatureStart.length).split(' ');
  const bytes = fromBase64(base64);
  if (!isKeyName(keyName) || more.length > 0 || bytes === null || bytes.length <= keyIdBytes) return null;
  return { keyName, keyId: bytes.readUInt32BE(0), signature: bytes.subarray(keyIdBytes) };
}

/** Not empty, no Unicode spaces, no plus. */
function isKeyName(name: string): boolean {
  return /^[^\s\u0085+]+$/.test(name);
}
