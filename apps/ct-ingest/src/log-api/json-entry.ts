import { readLeaf } from '@certwright/ct';
import { fetchedEntry, hugeEntry, keptOfOdd, longestIndexed, oddEntry } from './fetched-entry';
import type { FetchedEntry } from './log-api';
import { LogUnavailable } from './log-faults';
import { Base64Text, HashedOctets, KeptOctets } from './long-text';
import { EntryIsLong } from './streamed-entries';

/** Of ASN.1Cert and of a vector of them (RFC 6962, section 3.1), and of extensions (section 3.4), bytes. */
const [maxCertificate, maxExtensions] = [2 ** 24, 2 ** 16];

/** Version, type, timestamp, type of entry, hash of the issuer's key, and lengths, bytes (RFC 6962, section 3.4). */
const aroundCertificate = 64;

const maxLeaf = maxCertificate + maxExtensions + aroundCertificate;
const maxExtraData = 2 * maxCertificate + aroundCertificate;

/** A chain that is longer is none of server certificates: its entry is counted and kept in part, and not indexed. Bytes. */
const maxChain = 1_048_576;

/** Where the length of the certificate is in a MerkleTreeLeaf, by the type of the entry. */
const lengthAt = [12, 44] as const;
const typeAt = 10;

/** RFC 6962, section 2.1: before a leaf when it is hashed. */
const leafPrefix = Buffer.from([0]);

/** An entry of a `get-entries` answer, whose members come in any order and in pieces. */
export class JsonEntry {
  private readonly leaf = new KeptOctets(
    longestIndexed + maxExtensions + aroundCertificate,
    maxLeaf,
    keptOfOdd,
  );
  private readonly extraData = new KeptOctets(longestIndexed + maxChain + aroundCertificate, maxExtraData, 0);
  private readonly leafHash = new HashedOctets(leafPrefix, this.leaf);
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

  /** Of memory. */
  get bytes(): number {
    return this.leaf.kept + this.extraData.kept;
  }

  /** A text of this name begins. @returns false: nobody needs it */
  begin(name: string): boolean {
    if (name !== 'leaf_input' && name !== 'extra_data') return false;
    if (this.seen.has(name)) throw new LogUnavailable(`The log answered an entry with ${name} twice.`);
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
    if (!this.seen.has('leaf_input'))
      throw new LogUnavailable('The log answered get-entries with an entry without a leaf.');
    const { leaf, extraData, texts } = this;
    if (leaf.isTooLong || extraData.isTooLong)
      return hugeEntry(this.leafHash.digest(), leaf.octets, leaf.length);
    const isMalformed = texts.leaf_input.isMalformed || texts.extra_data.isMalformed;
    if (isMalformed || !this.seen.has('extra_data')) return oddEntry(leaf.octets, 'json');
    const reading = readLeaf(leaf.octets, extraData.octets);
    return reading.ok ? fetchedEntry(reading.entry) : oddEntry(leaf.octets, reading.fault);
  }

  /**
   * A leaf whose certificate will be too long for the index is not kept until it is; one that goes on far behind its end, or is of a type
   * that RFC 6962 does not have and longer than is indexed, is not read on.
   */
  private lookAhead(): void {
    const { leaf } = this;
    if (this.hasLookedAhead || leaf.length < aroundCertificate) return;
    this.hasLookedAhead = true;
    const { octets } = leaf;
    const at = lengthAt[octets.readUInt16BE(typeAt)];
    const certificate = at === undefined ? longestIndexed : octets.readUIntBE(at, 3);
    leaf.limitTo(certificate + maxExtensions + aroundCertificate);
    if (certificate > longestIndexed) leaf.willBeTooLong();
  }
}
