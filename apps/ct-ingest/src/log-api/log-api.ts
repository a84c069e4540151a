import type { CompactTree, LogEntry } from '@certwright/ct';
import type { SignedTreeHead } from './log-faults';

/** A tree head whose signature was verified. */
export type VerifiedHead = SignedTreeHead;

/** One entry of a log: its leaf hash, and what can be read. */
export type FetchedEntry =
  | { readonly kind: 'read'; readonly leafHash: Buffer; readonly entry: LogEntry }
  | {
      readonly kind: 'odd';
      readonly leafHash: Buffer;
      readonly fault: string;
      /** The leaf or its prefix. */
      readonly leaf: Buffer;
      readonly leafBytes: number;
    };

/** Consecutive entries; they are views of one response. */
export interface EntryPage {
  readonly from: number;
  readonly entries: readonly FetchedEntry[];
  /** Called when the page is no longer needed, to free its memory for other responses. */
  release(): void;
}

/** Entries [from, to). */
export interface EntryRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Source of entries, whichever interface the log has. Every method throws LogUnavailable for errors that a retry may resolve,
 * and the reason of the signal.
 */
export interface EntrySource {
  /** The end of the next range to request, at most `to`. */
  rangeEnd(from: number, to: number): number;
  /** The first entries of the range, at least one. Null: the response is longer than usual. */
  fetch(range: EntryRange, treeSize: number, signal: AbortSignal): Promise<EntryPage | null>;
  /** The same with all available memory, for longer responses. */
  fetchLong(range: EntryRange, treeSize: number, signal: AbortSignal): Promise<EntryPage>;
}

/** Client of a log with what a monitor needs. */
export interface LogApi extends EntrySource {
  /** @throws LogUnavailable also for an invalid signature, which proves nothing about the log */
  head(signal: AbortSignal): Promise<VerifiedHead>;
  /** Unverified proof that the tree of `from` leaves is a prefix of the head's tree (RFC 6962, section 2.1.2). */
  consistencyProof(from: number, head: VerifiedHead, signal: AbortSignal): Promise<readonly Buffer[]>;
  /** Unverified compact tree of the first `size` leaves of the head's tree, as the log returns it. */
  treeOf(size: number, head: VerifiedHead, signal: AbortSignal): Promise<CompactTree>;
  /** Milliseconds since the epoch; 0: the entry cannot be read. */
  timestampAt(index: number, head: VerifiedHead, signal: AbortSignal): Promise<number>;
  /** A certificate of a chain by its SHA-256; null: the log does not have it. */
  issuer(fingerprint: Buffer, signal: AbortSignal): Promise<Buffer | null>;
}
