import type { EntryChain } from './entry';

/** Max bytes of texts and chains: fits those of all public CAs, at each base64 alignment. */
const maxHeld = 8 * 1_048_576;

/** Max bytes of a cached text: a chain has two or three certificates. */
const maxTextLength = 32_768;

/** Bytes of an entry besides the texts: objects and map entries. */
const heldBeside = 512;

/** Offsets at which texts of the same length are compared: near the serial number of the first certificate. */
const serialAt = 32;

/** Base64 text within a log's response. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

interface KnownChain {
  /** A copy. */
  readonly text: Buffer;
  readonly before: number;
  readonly chain: EntryChain;
}

/**
 * Chains of recent entries, by their base64: nearly every entry has a chain that many others have, which then
 * need not be decoded and checked again. A hit has exactly the same text: the hash only selects one candidate to compare,
 * so that a log that forces collisions only slows down itself. The oldest are evicted.
 */
export class KnownChains {
  private readonly chains = new Map<number, KnownChain>();
  private held = 0;

  /** @param before the bytes of the chain before the text, as a number that also encodes their count */
  find(response: Buffer, { start, end }: TextSpan, before: number): EntryChain | null {
    if (end - start > maxTextLength || end === start) return null;
    const known = this.chains.get(placeOf(response, start, end));
    if (known?.before !== before || known.text.length !== end - start) return null;
    return response.compare(known.text, 0, end - start, start, end) === 0 ? known.chain : null;
  }

  /** @param chain decoded text, after the bytes before it; returns it, as a copy if it is cached */
  keep(response: Buffer, { start, end }: TextSpan, before: number, chain: EntryChain): EntryChain {
    if (end - start > maxTextLength || end === start) return chain;
    const place = placeOf(response, start, end);
    const kept = { of: chain.of, bytes: copyOf(chain.bytes, 0, chain.bytes.length) };
    this.drop(place);
    this.chains.set(place, { text: copyOf(response, start, end), before, chain: kept });
    this.held += heldBeside + end - start + kept.bytes.length;
    for (const oldest of this.chains.keys()) {
      if (this.held <= maxHeld) break;
      this.drop(oldest);
    }
    return kept;
  }

  private drop(place: number): void {
    const known = this.chains.get(place);
    if (known === undefined) return;
    this.held -= heldBeside + known.text.length + known.chain.bytes.length;
    this.chains.delete(place);
  }
}

/** Copied to separate memory, as a view would keep the Buffer pool's memory alive. */
function copyOf(bytes: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(end - start);
  bytes.copy(copy, 0, start, end);
  return copy;
}

/** A 32-bit hash of a text of at least four bytes: of its length and some of its bytes. */
function placeOf(response: Buffer, start: number, end: number): number {
  const length = end - start;
  const last = end - 4;
  let place = length;
  for (const at of [start + serialAt, start + (length >> 2), start + (length >> 1), last])
    place = Math.imul(place, 0x9e3779b1) ^ response.readInt32LE(Math.min(at, last));
  return place;
}
