import { readLeaf } from '@certwright/ct';
import { fetchedEntry, hugeEntry, keptOfOdd, maxIndexed, oddEntry } from './fetched-entry';
import type { FetchedEntry } from './log-api';
import { LogUnavailable } from './log-faults';
import { Base64Text, HashedBytes, KeptBytes } from './long-text';
import { EntryIsLong } from './streamed-entries';

/** Bytes of the lengths of an ASN.1Cert, of a vector of them (RFC 6962, section 3.1) and of extensions (section 3.4). */
const [maxCertificate, maxExtensions] = [2 ** 24, 2 ** 16];

/** Version, type, timestamp, entry type, issuer key hash and lengths, bytes (RFC 6962, section 3.4). */
const aroundCertificate = 64;

const maxLeaf = maxCertificate + maxExtensions + aroundCertificate;
const maxExtraData = 2 * maxCertificate + aroundCertificate;

/** Bytes. A longer chain is not one of a server certificate: its entry is counted and partly stored, and not indexed. */
const maxChain = 1_048_576;

/** Offset of the certificate's length in a MerkleTreeLeaf, by entry type. */
const lengthAt = [12, 44] as const;
const typeAt = 10;

/** RFC 6962, section 2.1: prefix of a leaf in its hash. */
const leafPrefix = Buffer.from([0]);

/** An entry of a `get-entries` response, whose members arrive in any order and in chunks. */
export class JsonEntry {
  private readonly leaf = new KeptBytes(maxIndexed + maxExtensions + aroundCertificate, maxLeaf, keptOfOdd);
  private readonly extraData = new KeptBytes(maxIndexed + maxChain + aroundCertificate, maxExtraData, 0);
  private readonly leafHash = new HashedBytes(leafPrefix, this.leaf);
  private readonly texts = {
    leaf_input: new Base64Text(this.leafHash),
    extra_data: new Base64Text(this.extraData),
  };
  private readonly seen = new Set<string>();
  private current: Base64Text = this.texts.leaf_input;
  private characters = 0;
  private hasLookedAhead = false;

  /** @param maxCharacters of its texts @throws EntryIsLong in `text` */
  constructor(private readonly maxCharacters: number) {}

  /** Bytes of memory. */
  get bytes(): number {
    return this.leaf.kept + this.extraData.kept;
  }

  /** A string with this name begins. @returns false: it is not used */
  begin(name: string): boolean {
    if (name !== 'leaf_input' && name !== 'extra_data') return false;
    if (this.seen.has(name)) throw new LogUnavailable(`The log returned an entry with ${name} twice.`);
    this.seen.add(name);
    this.current = this.texts[name];
    return true;
  }

  text(characters: Buffer): void {
    this.characters += characters.length;
    if (this.characters > this.maxCharacters) throw new EntryIsLong();
    this.current.take(characters);
    if (this.current === this.texts.leaf_input) this.lookAhead();
  }

  textEnds(): void {
    this.current.end();
  }

  /** @throws LogUnavailable when it has no leaf */
  end(): FetchedEntry {
    if (!this.seen.has('leaf_input')) throw new LogUnavailable('The log returned an entry without a leaf.');
    const { leaf, extraData, texts } = this;
    if (leaf.isTooLong || extraData.isTooLong)
      return hugeEntry(this.leafHash.digest(), leaf.bytes, leaf.length);
    const isMalformed = texts.leaf_input.isMalformed || texts.extra_data.isMalformed;
    if (isMalformed || !this.seen.has('extra_data')) return oddEntry(leaf.bytes, 'json');
    const reading = readLeaf(leaf.bytes, extraData.bytes);
    return reading.ok ? fetchedEntry(reading.entry) : oddEntry(leaf.bytes, reading.fault);
  }

  /**
   * A leaf whose certificate is too long for the index is not buffered. Reading stops when a leaf continues far beyond its end, or is
   * of a type that RFC 6962 does not define and longer than the index allows.
   */
  private lookAhead(): void {
    const { leaf } = this;
    if (this.hasLookedAhead || leaf.length < aroundCertificate) return;
    this.hasLookedAhead = true;
    const { bytes } = leaf;
    const at = lengthAt[bytes.readUInt16BE(typeAt)];
    const certificate = at === undefined ? maxIndexed : bytes.readUIntBE(at, 3);
    leaf.limitTo(certificate + maxExtensions + aroundCertificate);
    if (certificate > maxIndexed) leaf.willBeTooLong();
  }
}
