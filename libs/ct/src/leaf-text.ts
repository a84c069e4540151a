import type { EntryChain, LogEntry } from './entry';
import type { KnownChains, TextSpan } from './known-chains';
import { readChain, readMerkleTreeLeaf } from './leaf';
import { base64Digits, fromBase64 } from './bytes';
import { entryOf } from './timestamped-entry';

/** Characters per base64 group, and bytes that they encode. */
const group = { characters: 4, bytes: 3 } as const;

/** Bytes of the length before a precertificate: one group. */
const lengthBytes = 3;

const noBytes = Buffer.alloc(0);

/**
 * One entry of a `get-entries` response from the base64 of its members. A known chain is not decoded. Null: it
 * is invalid, and `readLeafJson` returns the reason.
 */
export function readLeafText(
  response: Buffer,
  leafInput: TextSpan,
  extraData: TextSpan,
  chains: KnownChains,
): LogEntry | null {
  const bytes = decoded(response, leafInput.start, leafInput.end);
  const leaf = bytes === null ? 'leaf' : readMerkleTreeLeaf(bytes);
  if (typeof leaf === 'string') return null;
  if (leaf.issuerKeyHash === null) {
    const chain = chainIn(response, extraData, noBytes, 0, chains);
    return chain === null ? null : entryOf(leaf, null, chain);
  }
  const head = readHead(response, extraData);
  if (head === null) return null;
  const { precertificateEnd } = head;
  const rest = { start: head.end, end: extraData.end };
  const chain = chainIn(response, rest, head.bytes, precertificateEnd, chains);
  if (chain === null) return null;
  return entryOf(leaf, head.bytes.subarray(lengthBytes, precertificateEnd), chain);
}

/** The base64 groups of a precertificate and its length; null when they are invalid, or nothing follows. */
function readHead(response: Buffer, { start, end }: TextSpan) {
  if (end - start <= group.characters) return null;
  let length = 0;
  // Invalid base64 is detected when it is decoded.
  for (let at = start; at < start + group.characters; at++)
    length = length * 64 + (base64Digits[response[at] ?? 0] ?? 0);
  const precertificateEnd = lengthBytes + length;
  const groups = Math.ceil(precertificateEnd / group.bytes);
  const headEnd = start + groups * group.characters;
  if (length === 0 || headEnd >= end) return null;
  const bytes = decoded(response, start, headEnd);
  // Otherwise it is padded, which is only valid at its end.
  return bytes?.length === groups * group.bytes ? { bytes, precertificateEnd, end: headEnd } : null;
}

/** @param head bytes before the text; those from `chainAt` on, two at most, belong to the chain */
function chainIn(
  response: Buffer,
  text: TextSpan,
  head: Buffer,
  chainAt: number,
  chains: KnownChains,
): EntryChain | null {
  let before = head.length - chainAt;
  for (let at = chainAt; at < head.length; at++) before = before * 256 + (head[at] ?? 0);
  const known = chains.find(response, text, before);
  if (known !== null) return known;
  const bytes = decoded(response, text.start, text.end);
  const chain = bytes === null ? null : readChain(Buffer.concat([head.subarray(chainAt), bytes]));
  return chain === null ? null : chains.keep(response, text, before, chain);
}

function decoded(response: Buffer, start: number, end: number): Buffer | null {
  return fromBase64(response.toString('latin1', start, end));
}
