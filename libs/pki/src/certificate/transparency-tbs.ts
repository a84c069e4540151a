import { parseDer, type DerElement } from '../der/der-element';
import { DerError } from '../der/der-error';
import { tags } from '../der/der-primitives';
import { DerReader, explicitContent } from '../der/der-reader';
import { isContext, isUniversal, objectIdentifierValue } from '../der/der-values';
import { sha256Hex } from '../fingerprints';

/** Offsets of an element: of its identifier, of its content, and of what follows. */
export interface DerPlace {
  readonly at: number;
  readonly start: number;
  readonly end: number;
  /** `end`, or after the end-of-contents bytes of an indefinite length. */
  readonly next: number;
}

/** A TBSCertificate with poison or SCT list. */
export interface LoggedTbs {
  readonly bytes: Buffer;
  readonly tbs: DerPlace;
  /** The [3] around the Extensions. */
  readonly wrapper: DerPlace;
  /** The Extensions. */
  readonly list: DerPlace;
  /** Poison and SCT list, in order. */
  readonly removed: readonly DerPlace[];
}

/**
 * The TBSCertificate that a certificate and its precertificate share (RFC 6962, section 3.2): without poison
 * and without SCT list, the enclosing lengths re-encoded, everything else byte for byte. An extension
 * list that becomes empty is omitted, as RFC 5280 does not allow one.
 */
export function withoutSctList({ bytes, tbs, wrapper, list, removed }: LoggedTbs): Buffer {
  const kept = removed.reduce((length, { at, next }) => length - (next - at), list.end - list.start);
  const afterList = wrapper.end - list.next;
  const inWrapper = kept === 0 ? 0 : headLength(kept) + kept + afterList;
  const wrapped = inWrapper === 0 ? 0 : headLength(inWrapper) + inWrapper;
  const content = wrapper.at - tbs.start + wrapped + (tbs.end - wrapper.next);

  const written = new DerCopy(bytes, headLength(content) + content);
  written.head(tbs.at, content);
  written.copy(tbs.start, wrapper.at);
  if (kept > 0) {
    written.head(wrapper.at, inWrapper);
    written.head(list.at, kept);
    let at = list.start;
    for (const extension of removed) {
      written.copy(at, extension.at);
      at = extension.next;
    }
    written.copy(at, list.end);
    written.copy(list.next, wrapper.end);
  }
  written.copy(wrapper.next, tbs.end);
  return written.bytes;
}

/** How Certificate Transparency logs identify a certificate. */
export interface LogIdentity {
  /** SHA-256 over the TBSCertificate without poison and SCT list, lower-case hexadecimal. */
  readonly tbsSha256: string;
  readonly hasSctList: boolean;
}

const sctList = '1.3.6.1.4.1.11129.2.4.2';
const poison = '1.3.6.1.4.1.11129.2.4.3';

/** Of a certificate in strict DER. Of anything else: the digest of all bytes, as the index of public certificates has it. */
export function logIdentity(der: Uint8Array): LogIdentity {
  try {
    return identityOf(Buffer.from(der.buffer, der.byteOffset, der.byteLength));
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return { tbsSha256: sha256Hex(der), hasSctList: false };
  }
}

function identityOf(bytes: Buffer): LogIdentity {
  const tbs = DerReader.sequence(parseDer(bytes), 'Certificate').next('TBSCertificate');
  const wrapper = tbs.children.find((part) => isContext(part, 3));
  if (wrapper === undefined) return { tbsSha256: sha256Hex(tbs.raw), hasSctList: false };
  const list = explicitContent(wrapper, 'the extensions');
  const ids = list.children.map(extensionId);
  const removed = list.children.filter((_, nth) => ids[nth] === sctList || ids[nth] === poison);
  const shared =
    removed.length === 0
      ? tbs.raw
      : withoutSctList({
          bytes,
          tbs: placeOf(tbs),
          wrapper: placeOf(wrapper),
          list: placeOf(list),
          removed: removed.map(placeOf),
        });
  return { tbsSha256: sha256Hex(shared), hasSctList: ids.includes(sctList) };
}

function extensionId({ children: [id] }: DerElement): string | null {
  return id !== undefined && isUniversal(id, tags.objectIdentifier)
    ? objectIdentifierValue(id, 'an extension identifier')
    : null;
}

function placeOf({ offset: at, raw, content }: DerElement): DerPlace {
  const end = at + raw.length;
  return { at, start: end - content.length, end, next: end };
}

/** Bytes of an identifier and the length after it. */
function headLength(length: number): number {
  let bytes = 2;
  if (length >= 0x80) for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes++;
  return bytes;
}

/** Writes parts of one DER structure into a new one. */
class DerCopy {
  readonly bytes: Buffer;
  private end = 0;

  constructor(
    private readonly source: Buffer,
    length: number,
  ) {
    this.bytes = Buffer.allocUnsafe(length);
  }

  copy(start: number, end: number): void {
    if (end > start) this.end += this.source.copy(this.bytes, this.end, start, end);
  }

  /** The identifier of the source, and another length in the minimum number of bytes (X.690, section 10.1). */
  head(tagAt: number, length: number): void {
    this.bytes[this.end++] = this.source[tagAt] ?? 0;
    const bytes = headLength(length) - 2;
    if (bytes === 0) this.bytes[this.end++] = length;
    else {
      this.bytes[this.end++] = 0x80 | bytes;
      this.end = this.bytes.writeUIntBE(length, this.end, bytes);
    }
  }
}
