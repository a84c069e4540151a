import type { EntryChain, LogEntry } from './entry';
import type { KnownChains, TextSpan } from './known-chains';
import { readChain, readMerkleTreeLeaf } from './leaf';
import { base64Digits, fromBase64 } from './octets';
import { entryOf } from './timestamped-entry';

/** Characters of a group of base64, and octets that they say. */
const group = { characters: 4, octets: 3 } as const;

/** The length before a precertificate, octets: one group. */
const lengthOctets = 3;

const noOctets = Buffer.alloc(0);

/**
 * One entry of a `get-entries` answer by the base64 of its members, of which the chain is not decoded where it is known. Null: it
 * cannot be read, and `readLeafJson` tells why.
 */
export function readLeafText(
  answer: Buffer,
  leafInput: TextSpan,
  extraData: TextSpan,
  chains: KnownChains,
): LogEntry | null {
  const octets = decoded(answer, leafInput.start, leafInput.end);
  const leaf = octets === null ? 'leaf' : readMerkleTreeLeaf(octets);
  if (typeof leaf === 'string') return null;
  if (leaf.issuerKeyHash === null) {
    const chain = chainIn(answer, extraData, noOctets, 0, chains);
    return chain === null ? null : entryOf(leaf, null, chain);
  }
  const head = readHead(answer, extraData);
  if (head === null) return null;
  const { precertificateEnd } = head;
  const rest = { start: head.end, end: extraData.end };
  const chain = chainIn(answer, rest, head.octets, precertificateEnd, chains);
  if (chain === null) return null;
  return entryOf(leaf, head.octets.subarray(lengthOctets, precertificateEnd), chain);
}

/** The groups of base64 that a precertificate and the length before it are in; null when these are none, or nothing follows. */
function readHead(answer: Buffer, { start, end }: TextSpan) {
  if (end - start <= group.characters) return null;
  let length = 0;
  // What is no base64 is found when it is decoded.
  for (let at = start; at < start + group.characters; at++)
    length = length * 64 + (base64Digits[answer[at] ?? 0] ?? 0);
  const precertificateEnd = lengthOctets + length;
  const groups = Math.ceil(precertificateEnd / group.octets);
  const headEnd = start + groups * group.characters;
  if (length === 0 || headEnd >= end) return null;
  const octets = decoded(answer, start, headEnd);
  // Otherwise it was padded, which only its end may be.
  return octets?.length === groups * group.octets ? { octets, precertificateEnd, end: headEnd } : null;
}

/** @param head octets before the text, of which those from `chainAt` on, two at most, are the chain's */
function chainIn(
  answer: Buffer,
  text: TextSpan,
  head: Buffer,
  chainAt: number,
  chains: KnownChains,
): EntryChain | null {
  let before = head.length - chainAt;
  for (let at = chainAt; at < head.length; at++) before = before * 256 + (head[at] ?? 0);
  const known = chains.find(answer, text, before);
  if (known !== null) return known;
  const octets = decoded(answer, text.start, text.end);
  const chain = octets === null ? null : readChain(Buffer.concat([head.subarray(chainAt), octets]));
  return chain === null ? null : chains.keep(answer, text, before, chain);
}

function decoded(answer: Buffer, start: number, end: number): Buffer | null {
  return fromBase64(answer.toString('latin1', start, end));
}
