import type { EntryChain } from './entry';

/** Bytes of memory for texts and chains: those of all public CAs, in each of the ways in which base64 may cut them. */
const maxHeld = 8 * 1_048_576;

/** Bytes of a text that is kept: a chain has two or three certificates. */
const maxTextLength = 32_768;

/** Of an entry beside the texts, bytes: objects and what finds them. */
const heldBeside = 512;

/** Where a text is sampled to distinguish texts of the same length: near the serial number of the first certificate. */
const serialAt = 32;

/** Base64 that stands somewhere in what a log answered. */
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
 * Chains that came with recent entries, by the base64 that they were read from: nearly every entry has one that many have, which then
 * need not be decoded and looked at again. What is found has the same text, to the byte: what finds it only picks one to compare with,
 * so that logs that aim at that cost themselves some time and nobody else anything. The oldest go when there are too many.
 */
export class KnownChains {
  private readonly chains = new Map<number, KnownChain>();
  private held = 0;

  /** @param before what stands before the text of the chain's bytes, as a number that tells how many they are, too */
  find(answer: Buffer, { start, end }: TextSpan, before: number): EntryChain | null {
    if (end - start > maxTextLength || end === start) return null;
    const known = this.chains.get(placeOf(answer, start, end));
    if (known?.before !== before || known.text.length !== end - start) return null;
    return answer.compare(known.text, 0, end - start, start, end) === 0 ? known.chain : null;
  }

  /** @param chain what the text decodes to, behind what stands before; returns it, held by itself where it is kept */
  keep(answer: Buffer, { start, end }: TextSpan, before: number, chain: EntryChain): EntryChain {
    if (end - start > maxTextLength || end === start) return chain;
    const place = placeOf(answer, start, end);
    const kept = { of: chain.of, bytes: copyOf(chain.bytes, 0, chain.bytes.length) };
    this.drop(place);
    this.chains.set(place, { text: copyOf(answer, start, end), before, chain: kept });
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

/** In memory of its own: not in a piece of what other Buffers are made of, too, which it would hold. */
function copyOf(bytes: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(end - start);
  bytes.copy(copy, 0, start, end);
  return copy;
}

/** A number of 32 bits of a text of four bytes or more: its length, and what it has in some places. */
function placeOf(answer: Buffer, start: number, end: number): number {
  const length = end - start;
  const last = end - 4;
  let place = length;
  for (const at of [start + serialAt, start + (length >> 2), start + (length >> 1), last])
    place = Math.imul(place, 0x9e3779b1) ^ answer.readInt32LE(Math.min(at, last));
  return place;
}
