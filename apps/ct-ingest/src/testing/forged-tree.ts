import { leafHash, nodeHash, emptyRoot } from '@certwright/ct';
import { issuerDer, issuerSpkiSha256, sha256, type Submission } from './forged-entries';

const uint = (value: number, width: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes.subarray(8 - width);
};
const vector = (width: number, bytes: Uint8Array) => Buffer.concat([uint(bytes.length, width), bytes]);

/** An entry in a log's response. */
export interface ServedEntry {
  readonly leaf: Buffer;
  readonly extraData: Buffer;
  /** TileLeaf of a data tile. */
  readonly tileLeaf: Buffer;
}

/** @param isStatic whether the leaf contains its index */
export function served(submission: Submission, index: number, isStatic: boolean): ServedEntry {
  if (isStatic) return entryOf(submission, index);
  const entry = anywhere.get(submission) ?? entryOf(submission, null);
  anywhere.set(submission, entry);
  return entry;
}

/** Entries that do not depend on their index. */
const anywhere = new WeakMap<Submission, ServedEntry>();

function entryOf({ leafDer, precertificateDer, timestamp }: Submission, index: number | null): ServedEntry {
  const isPrecertificate = precertificateDer !== null;
  const extensions =
    index === null ? Buffer.alloc(0) : Buffer.concat([uint(0, 1), vector(2, uint(index, 5))]);
  const timestampedEntry = Buffer.concat([
    uint(timestamp, 8),
    uint(isPrecertificate ? 1 : 0, 2),
    ...(isPrecertificate ? [issuerSpkiSha256] : []),
    vector(3, leafDer),
    vector(2, extensions),
  ]);
  const chain = vector(3, vector(3, issuerDer));
  return {
    leaf: Buffer.concat([Buffer.from([0, 0]), timestampedEntry]),
    extraData: isPrecertificate ? Buffer.concat([vector(3, precertificateDer), chain]) : chain,
    tileLeaf: Buffer.concat([
      timestampedEntry,
      ...(isPrecertificate ? [vector(3, precertificateDer)] : []),
      vector(2, sha256(issuerDer)),
    ]),
  };
}

/** A certificate in an RFC 6962 log whose issuer's certificate is longer by this many bytes, different for each `nth`. */
export function belowLongIssuer(submission: Submission, bytes: number, nth: number): ServedEntry {
  const issuer = Buffer.concat([issuerDer, Buffer.alloc(bytes, nth)]);
  return { ...served(submission, 0, false), extraData: vector(3, vector(3, issuer)) };
}

/** All hashes of a Merkle tree, by definition (RFC 6962, section 2.1). */
export class ForgedTree {
  private readonly full = new Map<string, Buffer>();

  constructor(readonly leaves: readonly Buffer[]) {}

  root(size: number): Buffer {
    return size === 0 ? emptyRoot : this.hashOf(0, size);
  }

  /** MTH(D[start:end]) */
  hashOf(start: number, end: number): Buffer {
    const count = end - start;
    if (count === 1) return this.leaves[start] ?? leafHash(Buffer.alloc(0));
    const key = `${start} ${end}`;
    const known = this.full.get(key);
    if (known !== undefined) return known;
    let left = 1;
    while (left * 2 < count) left *= 2;
    const hash = nodeHash(this.hashOf(start, start + left), this.hashOf(start + left, end));
    this.full.set(key, hash);
    return hash;
  }
}
