import { isUtf8 } from 'node:buffer';
import { fromBase64 } from '../bytes';

export interface NoteSignature {
  readonly keyName: string;
  /** First four bytes of the digest that names the key, big-endian. */
  readonly keyId: number;
  readonly signature: Buffer;
}

export interface Note {
  /** With its last line feed, without the empty line before the signatures. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/**
 * Why bytes are no signed note: too many; no UTF-8, or control characters; no empty line with signatures
 * after it; a line there that is no signature.
 */
export type NoteFault = 'note_size' | 'note_characters' | 'note_form' | 'signature_line';

export type NoteReading =
  { readonly ok: true; readonly note: Note } | { readonly ok: false; readonly fault: NoteFault };

/** Bytes: sixteen post-quantum signatures of 5 kB in base64, as signed-note wants at least, fit well. */
const maxNoteLength = 256 * 1024;

const keyIdBytes = 4;

/** U+2014 and a space. */
const signatureStart = '\u2014 ';

/** Reads a signed note (c2sp.org/signed-note, "Format"). Nothing is verified: the text means nothing yet. */
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
