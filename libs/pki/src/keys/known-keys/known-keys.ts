import debianOpensslText from './debian-openssl.txt';
import publishedKeysText from './published-keys.txt';

/** Bytes of a digest that the packed list keeps: two choose the bucket, four are stored. */
const bucketBytes = 2;
const storedBytes = 4;
const buckets = 2 ** (8 * bucketBytes);

let published: ReadonlyMap<string, string> | undefined;
let debianOpenssl: PackedDigests | undefined;

/**
 * Where the private key of this public key is published; undefined when it is not on the included lists. Baseline
 * Requirements, section 6.1.1.3: a CA rejects such a key.
 *
 * @param spkiSha256 SHA-256 over the DER SubjectPublicKeyInfo, lower-case hexadecimal
 */
export function knownKeySource(spkiSha256: string): string | undefined {
  published ??= readPublishedKeys(publishedKeysText);
  const source = published.get(spkiSha256);
  if (source !== undefined) return source;
  debianOpenssl ??= new PackedDigests(Buffer.from(debianOpensslText, 'base64'));
  return debianOpenssl.has(Buffer.from(spkiSha256, 'hex'))
    ? 'weak random numbers of OpenSSL on Debian, CVE-2008-0166'
    : undefined;
}

/** `<SHA-256 over the DER SubjectPublicKeyInfo, hexadecimal> <source>` per line; `#` begins a comment line. */
export function readPublishedKeys(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, 64), line.slice(65)]));
}

/**
 * The first six bytes of each digest: a million entries need 4 MB, with one false positive in 2^28 CSRs. First the
 * number of entries of every bucket, one byte each, then the entries, sorted.
 */
export class PackedDigests {
  /** Index of the first entry of each bucket, and of the end. */
  private readonly starts = new Uint32Array(buckets + 1);

  constructor(private readonly packed: Buffer) {
    for (let bucket = 0; bucket < buckets; bucket++) {
      this.starts[bucket + 1] = (this.starts[bucket] ?? 0) + (packed[bucket] ?? 0);
    }
    if (packed.length !== buckets + this.size * storedBytes)
      throw new Error('a packed list of keys is cut off');
  }

  get size(): number {
    return this.starts[buckets] ?? 0;
  }

  /** @param digest six bytes or more */
  has(digest: Buffer): boolean {
    const bucket = digest.readUInt16BE(0);
    const wanted = digest.readUInt32BE(bucketBytes);
    for (let index = this.starts[bucket] ?? 0; index < (this.starts[bucket + 1] ?? 0); index++) {
      if (this.packed.readUInt32BE(buckets + index * storedBytes) === wanted) return true;
    }
    return false;
  }

  /** The first six bytes of each, sorted. */
  *entries(): Generator<Buffer> {
    for (let bucket = 0; bucket < buckets; bucket++) {
      for (let index = this.starts[bucket] ?? 0; index < (this.starts[bucket + 1] ?? 0); index++) {
        const entry = Buffer.alloc(bucketBytes + storedBytes);
        entry.writeUInt16BE(bucket);
        this.packed.copy(
          entry,
          bucketBytes,
          buckets + index * storedBytes,
          buckets + (index + 1) * storedBytes,
        );
        yield entry;
      }
    }
  }

  /** @param digests six bytes or more each; in any order, and more than once */
  static pack(digests: Iterable<Buffer>): Buffer {
    const prefixes = new Set<string>();
    for (const digest of digests) prefixes.add(digest.toString('hex', 0, bucketBytes + storedBytes));
    const counts = Buffer.alloc(buckets);
    const stored = [...prefixes].sort().map((prefix) => {
      const entry = Buffer.from(prefix, 'hex');
      const bucket = entry.readUInt16BE(0);
      counts.writeUInt8((counts[bucket] ?? 0) + 1, bucket);
      return entry.subarray(bucketBytes);
    });
    return Buffer.concat([counts, ...stored]);
  }
}
