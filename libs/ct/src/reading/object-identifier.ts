import type { DerCursor } from './der-cursor';

const objectIdentifier = 0x06;

/** Max bytes of an OBJECT IDENTIFIER; the longest ones in use have some twenty. */
const maxLength = 64;

/** The one at the cursor, dotted decimal (X.690, section 8.19); null when it is absent or invalid. */
export function readObjectIdentifier({ tag, bytes, start, end }: DerCursor): string | null {
  if (tag !== objectIdentifier || end === start || end - start > maxLength) return null;
  const arcs: bigint[] = [];
  let arc = 0n;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0;
    // Leading zeros: an invalid encoding of the identifier.
    if (arc === 0n && byte === 0x80) return null;
    arc = (arc << 7n) | BigInt(byte & 0x7f);
    if ((byte & 0x80) !== 0) continue;
    arcs.push(arc);
    arc = 0n;
  }
  if (((bytes[end - 1] ?? 0) & 0x80) !== 0) return null;
  const [both = 0n, ...others] = arcs;
  const first = both < 80n ? both / 40n : 2n;
  return [first, both - first * 40n, ...others].join('.');
}
