import path from 'node:path';
import { treeHeadSignatureInput } from '@certwright/ct';
import { EntryIndex } from './entry-index';
import { LogFile, LogFileFault } from './log-file';
import { LogSigner, type Sct } from './log-keys';
import { HeadFile, type PublishedHead } from './published-head';
import { sha256 } from './sha256';
import {
  decodeRecord,
  encodeEntry,
  encodeIssuer,
  identityOf,
  merkleTreeLeaf,
  partsOf,
  type SignedEntry,
  type StoredEntry,
  timestampedEntryOf,
} from './stored-entry';
import { SubmissionQueue } from './submission-queue';
import { uint, vector } from './tls';

export type LogKind = 'rfc6962' | 'static';

export interface Submission extends SignedEntry {
  /** DER of the chain above it, the issuer first, the root last. */
  readonly issuers: readonly Buffer[];
}

export interface CtLogOptions {
  readonly folder: string;
  readonly kind: LogKind;
  /** Maximum time until an entry is in a head. */
  readonly mergeDelayMs: number;
  readonly now: () => number;
}

/** A head is signed again after this time even without new entries: half the maximum merge delay of the list. */
const refreshMs = 30_000;

/** Bytes of the file that one response may contain; a single entry may be larger. */
const maxSpanBytes = 4 * 2 ** 20;

/** One log: its key, entries and signed heads. */
export class CtLog {
  private readonly queue = new SubmissionQueue<Submission>(async (batch) => await this.take(batch));
  private publishing: Promise<PublishedHead> | null = null;
  /** When the oldest entry that is in no head was added, by the clock of the process. */
  private unpublishedSince: number | null;

  private constructor(
    private readonly options: CtLogOptions,
    readonly signer: LogSigner,
    private readonly file: LogFile,
    private readonly index: EntryIndex,
    private readonly headFile: HeadFile,
    private published: PublishedHead | null,
  ) {
    this.unpublishedSince = index.size > (published?.treeSize ?? 0) ? 0 : null;
  }

  /** @throws LogFileFault when entries of a signed head are missing */
  static async open(options: CtLogOptions): Promise<CtLog> {
    const { folder, kind } = options;
    const signer = await LogSigner.open(path.join(folder, `${kind}.key`));
    const headFile = new HeadFile(path.join(folder, `${kind}.head.json`));
    const published = await headFile.read();
    const index = new EntryIndex();
    const file = await LogFile.open(path.join(folder, `${kind}.log`), (record) => index.replay(record));
    if (published !== null && !continues(index, published)) {
      await file.close();
      throw new LogFileFault(
        `${kind}.log does not have the ${published.treeSize} entries that the log has signed: restore ${folder}, or remove it for a new log.`,
      );
    }
    await file.cutOff();
    return new CtLog(options, signer, file, index, headFile, published);
  }

  get kind(): LogKind {
    return this.options.kind;
  }

  /** Number of entries, including those in no head yet. */
  get size(): number {
    return this.index.size;
  }

  /** Length of an incomplete record at the end of the file, after a crash. */
  get cutBytes(): number {
    return this.file.cutBytes;
  }

  /** The SCT of a submission, whose entry is then on disk. A repeated submission gets the same SCT. */
  async submit(submission: Submission): Promise<Sct> {
    const known = this.index.indexOfIdentity(identityOf(submission.bytes));
    return known === undefined ? await this.queue.submit(submission) : this.sctOf(await this.entry(known));
  }

  /** The newest head; signs a new one when it is due. */
  async head(): Promise<PublishedHead> {
    const { published } = this;
    if (published !== null && !this.isHeadDue(published)) return published;
    this.publishing ??= this.publish().finally(() => (this.publishing = null));
    return await this.publishing;
  }

  /** Entries from `from` to before `to`; fewer if they are long, at least one. */
  async entries(from: number, to: number): Promise<StoredEntry[]> {
    const start = this.index.placeOf(from).at;
    const endOf = (index: number) => this.index.placeOf(index).at + this.index.placeOf(index).length;
    let last = from;
    while (last + 1 < to && endOf(last + 1) - start <= maxSpanBytes) last++;
    const span = await this.file.read(start, endOf(last) - start);
    return Array.from({ length: last - from + 1 }, (_, nth) => {
      const { at, length } = this.index.placeOf(from + nth);
      return entryIn(span.subarray(at - start, at - start + length));
    });
  }

  async entry(index: number): Promise<StoredEntry> {
    const { at, length } = this.index.placeOf(index);
    return entryIn(await this.file.read(at, length));
  }

  indexOfLeaf(hash: Buffer): number | undefined {
    return this.index.indexOfLeaf(hash);
  }

  /** @param fingerprint SHA-256 over the certificate, hexadecimal */
  issuer(fingerprint: string): Buffer | undefined {
    return this.index.issuer(fingerprint);
  }

  get tree() {
    return this.index.tree;
  }

  async close(): Promise<void> {
    await this.queue.idle();
    await this.publishing?.catch(() => undefined);
    await this.file.close();
  }

  private isHeadDue({ timestamp }: PublishedHead): boolean {
    const { now, mergeDelayMs } = this.options;
    const since = this.unpublishedSince;
    return (since !== null && now() - since >= mergeDelayMs) || now() - timestamp >= refreshMs;
  }

  private async publish(): Promise<PublishedHead> {
    const treeSize = this.index.size;
    // RFC 6962, section 3.5: later than the head before, and not before any entry in it.
    const timestamp = Math.max(this.options.now(), (this.published?.timestamp ?? 0) + 1, this.index.newest);
    const head = { treeSize, timestamp, rootHash: this.index.tree.root(treeSize) };
    const published = { ...head, signature: this.signer.sign(treeHeadSignatureInput(head)) };
    await this.headFile.write(published);
    this.published = published;
    this.unpublishedSince = this.index.size > treeSize ? this.options.now() : null;
    return published;
  }

  private async take(submissions: readonly Submission[]): Promise<Sct[]> {
    const first = this.index.size;
    const entries = submissions.map((each, nth) => this.entryOf(each, first + nth));
    const issuers = this.unknownIssuers(submissions);
    const bodies = [...[...issuers.values()].map(encodeIssuer), ...entries.map(encodeEntry)];
    const places = await this.file.append(bodies);
    for (const [fingerprint, der] of issuers) this.index.addIssuer(der, fingerprint);
    entries.forEach((entry, nth) => {
      const record = issuers.size + nth;
      this.index.addEntry(entry, { at: places[record] ?? 0, length: bodies[record]?.length ?? 0 });
    });
    this.unpublishedSince ??= this.options.now();
    return entries.map((entry) => this.sctOf(entry));
  }

  private entryOf({ bytes: signed, precertificateDer, issuers }: Submission, index: number): StoredEntry {
    const timestamp = Math.max(this.options.now(), this.index.newest);
    const extensions = this.kind === 'static' ? leafIndexExtension(index) : Buffer.alloc(0);
    const timestampedEntry = timestampedEntryOf({ timestamp, signed, extensions });
    const fingerprints = Buffer.concat(issuers.map((der) => sha256(der)));
    const signature = this.signer.sign(merkleTreeLeaf({ timestampedEntry }));
    return { timestampedEntry, precertificateDer, fingerprints, signature };
  }

  private unknownIssuers(submissions: readonly Submission[]): Map<string, Buffer> {
    const unknown = new Map<string, Buffer>();
    for (const der of submissions.flatMap(({ issuers }) => issuers)) {
      const fingerprint = sha256(der).toString('hex');
      if (this.index.issuer(fingerprint) === undefined) unknown.set(fingerprint, der);
    }
    return unknown;
  }

  private sctOf({ timestampedEntry, signature }: StoredEntry): Sct {
    const { timestamp, extensions } = partsOf(timestampedEntry);
    return { logId: this.signer.logId, timestamp, extensions, signature };
  }
}

/** `leaf_index` (static-ct-api, "SCT Extension"). */
function leafIndexExtension(index: number): Buffer {
  return Buffer.concat([uint(0, 1), vector(2, uint(index, 5))]);
}

function continues(index: EntryIndex, { treeSize, rootHash }: PublishedHead): boolean {
  return index.size >= treeSize && index.tree.root(treeSize).equals(rootHash);
}

function entryIn(body: Buffer): StoredEntry {
  const record = decodeRecord(body);
  if (record?.kind !== 'entry') throw new LogFileFault('The log file was changed by another program.');
  return record.entry;
}
