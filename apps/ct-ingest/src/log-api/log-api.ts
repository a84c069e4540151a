import type { CompactTree, LogEntry } from '@certwright/ct';
import type { SignedTreeHead } from './log-faults';

/** A tree head whose signature was verified. */
export type VerifiedHead = SignedTreeHead;

/** One entry of a log: what the tree holds of it, and what can be read. */
export type FetchedEntry =
  | { readonly kind: 'read'; readonly leafHash: Buffer; readonly entry: LogEntry }
  | {
      readonly kind: 'odd';
      readonly leafHash: Buffer;
      readonly fault: string;
      /** The leaf or its beginning. */
      readonly leaf: Buffer;
      readonly leafBytes: number;
    };

/** Entries one after another; they are views of one answer. */
export interface EntryPage {
  readonly from: number;
  readonly entries: readonly FetchedEntry[];
  /** Called when nothing of it is needed any more: its memory is free for other answers. */
  release(): void;
}

/** Entries [from, to). */
export interface EntryRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Where entries come from, whichever interface the log has. Every method throws LogUnavailable for what may be better next time,
 * and the reason of the signal.
 */
export interface EntrySource {
  /** The end of the next range to ask for, at most `to`. */
  rangeEnd(from: number, to: number): number;
  /** The beginning of the range: at least one entry. Null: the answer is longer than an ordinary one. */
  fetch(range: EntryRange, treeSize: number, signal: AbortSignal): Promise<EntryPage | null>;
  /** The same with all the memory there is, for what is longer. */
  fetchLong(range: EntryRange, treeSize: number, signal: AbortSignal): Promise<EntryPage>;
}

/** A log as a monitor asks it. */
export interface LogApi extends EntrySource {
  /** @throws LogUnavailable also when the log did not sign it: that shows nothing about the log */
  head(signal: AbortSignal): Promise<VerifiedHead>;
  /** That the tree of `from` leaves is a beginning of the head's: a proof, which is not verified (RFC 6962, section 2.1.2). */
  consistencyProof(from: number, head: VerifiedHead, signal: AbortSignal): Promise<readonly Buffer[]>;
  /** The compact tree of the first `size` leaves of the head's tree, as the log says, which is not verified. */
  treeOf(size: number, head: VerifiedHead, signal: AbortSignal): Promise<CompactTree>;
  /** Milliseconds since the epoch; 0: the entry cannot be read. */
  timestampAt(index: number, head: VerifiedHead, signal: AbortSignal): Promise<number>;
  /** A certificate of a chain that the log tells by its SHA-256; null: the log does not have it. */
  issuer(fingerprint: Buffer, signal: AbortSignal): Promise<Buffer | null>;
}
