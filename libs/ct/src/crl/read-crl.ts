import { asBuffer } from '../bytes';
import { DerCursor, type DerSpan } from '../reading/der-cursor';
import { readTime } from '../reading/time';
import { type CrlScope, readCrlExtensions } from './crl-extensions';

/**
 * `not_a_crl`: the bytes are of another kind. `cut_off`: they end too early. `trailing_bytes`: more bytes follow. `algorithms`: the
 * inner and outer algorithm differ (RFC 5280, section 5.1.1.2). `this_update`: missing or unreadable.
 */
export type CrlFault = 'not_a_crl' | 'cut_off' | 'trailing_bytes' | 'algorithms' | 'this_update';

/** An unverified CertificateList (RFC 5280, section 5.1). Buffers are views of the input. */
export interface Crl extends CrlScope {
  /** The signed bytes. */
  readonly tbsDer: Buffer;
  /** The AlgorithmIdentifier. */
  readonly algorithmDer: Buffer;
  /** Without the byte that contains the number of unused bits. */
  readonly signature: Buffer;
  /** DER of the whole Name. */
  readonly issuerDer: Buffer;
  /** Milliseconds since the epoch. */
  readonly thisUpdate: number;
  /** Null: absent. */
  readonly nextUpdate: number | null;
  readonly bytes: Buffer;
  /** The SEQUENCE of entries; null: absent. */
  readonly revoked: DerSpan | null;
}

export type CrlReading =
  { readonly ok: true; readonly crl: Crl } | { readonly ok: false; readonly fault: CrlFault };

const tags = {
  integer: 0x02,
  bitString: 0x03,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  extensions: 0xa0,
} satisfies Record<string, number>;

const begin = '-----BEGIN X509 CRL-----';

/** Bytes before it. */
const maxPreambleLength = 256;

/** PEM, which some CAs publish (RFC 7468, section 6). */
const armour = /^\s*-----BEGIN X509 CRL-----([A-Za-z0-9+/=\s]*)-----END X509 CRL-----\s*$/;

/** Max bytes of PEM: decoding more would block other work, and long lists are published in DER. */
const maxArmourLength = 8 * 1_048_576;

/** Indefinite length (X.690, section 8.1.3.6), which is invalid in DER: the end is only known after reading everything. */
const indefinite = 0x80;

/** Reads everything but the entries, whose number costs nothing here. Never throws. */
export function readCrl(given: Uint8Array): CrlReading {
  const bytes = withoutArmour(asBuffer(given));
  const cursor = new DerCursor(bytes);
  if (!stepTo(cursor, 0, bytes.length) || cursor.tag !== tags.sequence) return fault('not_a_crl');
  if (cursor.sawCutOff) return fault('cut_off');
  if (cursor.next < bytes.length) return fault('trailing_bytes');
  const { start, end } = cursor;
  if (!stepTo(cursor, start, end) || cursor.tag !== tags.sequence) return fault('not_a_crl');
  const tbs = cursor.span();
  if (!stepTo(cursor, tbs.next, end) || cursor.tag !== tags.sequence) return fault('not_a_crl');
  const algorithmDer = slice(bytes, cursor);
  if (!stepTo(cursor, cursor.next, end) || cursor.tag !== tags.bitString) return fault('not_a_crl');
  if (cursor.sawCutOff) return fault('cut_off');
  const signature = bytes.subarray(Math.min(cursor.start + 1, cursor.end), cursor.end);
  return readTbs(cursor, tbs, { algorithmDer, signature });
}

function readTbs(
  cursor: DerCursor,
  tbs: DerSpan,
  outside: Pick<Crl, 'algorithmDer' | 'signature'>,
): CrlReading {
  const { bytes } = cursor;
  const { end } = tbs;
  let there = stepTo(cursor, tbs.start, end);
  const advance = () => (there = stepTo(cursor, cursor.next, end));
  if (there && cursor.tag === tags.integer) advance();
  if (!there || cursor.tag !== tags.sequence) return fault('not_a_crl');
  if (!slice(bytes, cursor).equals(outside.algorithmDer)) return fault('algorithms');
  advance();
  if (!there || cursor.tag !== tags.sequence) return fault('not_a_crl');
  const issuerDer = slice(bytes, cursor);
  advance();
  const thisUpdate = there ? timeAt(cursor) : null;
  if (thisUpdate === null) return fault('this_update');
  advance();
  const nextUpdate = there ? timeAt(cursor) : null;
  if (there && isTime(cursor.tag)) advance();
  const revoked = there && cursor.tag === tags.sequence ? cursor.span() : null;
  if (revoked !== null) advance();
  const extensions = there && cursor.tag === tags.extensions ? cursor.span() : null;
  if (cursor.sawCutOff) return fault('cut_off');
  const scope = readCrlExtensions(cursor, extensions);
  const tbsDer = slice(bytes, tbs);
  return {
    ok: true,
    crl: { ...outside, ...scope, tbsDer, issuerDer, thisUpdate, nextUpdate, bytes, revoked },
  };
}

/** Also false for an element of indefinite length. */
function stepTo(cursor: DerCursor, position: number, limit: number): boolean {
  return cursor.bytes[position + 1] !== indefinite && cursor.moveTo(position, limit);
}

function isTime(tag: number): boolean {
  return tag === tags.utcTime || tag === tags.generalizedTime;
}

function timeAt(cursor: DerCursor): number | null {
  return isTime(cursor.tag) ? (readTime(cursor.bytes, cursor)?.ms ?? null) : null;
}

function slice(bytes: Buffer, span: DerSpan): Buffer {
  return bytes.subarray(span.at, span.next);
}

function withoutArmour(bytes: Buffer): Buffer {
  if (bytes.length > maxArmourLength || bytes.subarray(0, maxPreambleLength).indexOf(begin) < 0) return bytes;
  const match = armour.exec(bytes.toString('latin1'));
  return match === null ? bytes : Buffer.from(match[1] ?? '', 'base64');
}

function fault(word: CrlFault): CrlReading {
  return { ok: false, fault: word };
}
