import type { Issued } from './reading/read-issued';
import { sha256Hex } from './sha256';

/**
 * The TBSCertificate that a certificate and its precertificate share (RFC 6962, section 3.2): without poison
 * and without SCT list, the enclosing lengths re-encoded, everything else byte for byte. An extension
 * list that becomes empty is omitted, as RFC 5280 does not allow one. For a precertificate entry it is derived
 * from the TBSCertificate of the leaf: a precertificate that was signed by a precertificate signing
 * certificate has another issuer. Null when there is no TBSCertificate.
 */
export function transparencyTbs({ bytes, layout, extensions: { list, removed } }: Issued): Buffer | null {
  if (layout === null) return null;
  const { tbs, extensions: wrapper } = layout;
  if (removed.length === 0 || wrapper === null || list === null) return bytes.subarray(tbs.at, tbs.next);
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

/**
 * SHA-256 over the transparency TBSCertificate, in hexadecimal. If there is none, over all bytes, which
 * still identify one issuance.
 */
export function tbsSha256(issued: Issued): string {
  return sha256Hex(transparencyTbs(issued) ?? issued.bytes);
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

  /**
   * The identifier of the source, and another length in the min number of bytes (X.690, section
   * 10.1).
   */
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
