const mebibyte = 1_048_576;

/**
 * For the process itself, its caches (recent issuances, issuers, chains), the packing threads, batches that are being committed, and
 * uncollected garbage; bytes. Measured: tools/bench/ct/faulty-logs.mjs.
 */
const setAside = 240 * mebibyte;

/** Min share of a log, bytes. If shares would be smaller, fewer logs are followed in parallel and the others wait for their turn. */
const minShare = { responses: 5 * mebibyte, batch: 2 * mebibyte };

/** Max share, bytes: a larger one has no benefit, as a batch has 2,048 entries. */
const maxShare = { responses: 24 * mebibyte, batch: 9 * mebibyte };

/** Part of a share for responses; the rest is for the batch. */
const forResponses = 0.7;

/** Max responses that are prefetched in parallel when each takes its max memory. */
const pagesAtATime = 3;

/** Bytes of memory for reading a response, in addition to the collected entries: chunks, and the current entry. */
const besidePage = mebibyte / 2;

/** Max bytes of an entry as sent. A longer one is fetched alone, with its log's whole share. */
const maxPageEntry = 262_144;

/**
 * Division of the process's memory. Each followed log has its own share during its turn: it never waits for memory that
 * another log holds. Bytes.
 */
export interface MemoryShares {
  /** Number of logs that have a share at the same time. */
  readonly logs: number;
  /** Of one log, for pending or unread responses. */
  readonly responses: number;
  /** For collected entries of a response. */
  readonly maxPage: number;
  readonly maxPageEntry: number;
  readonly whilePageIsRead: number;
  /** While the longest indexed entry is read alone. */
  readonly whileEntryIsRead: number;
  /** Of one log, for uncommitted issuances, by the weights of `Batch`. */
  readonly batch: number;
}

/** @param logs max number of logs to follow at the same time */
export function memoryShares(limitMib: number, logs: number): MemoryShares {
  const shared = limitMib * mebibyte - setAside;
  const fitting = Math.max(1, Math.min(logs, Math.floor(shared / (minShare.responses + minShare.batch))));
  const share = shared / fitting;
  const responses = between(minShare.responses, Math.floor(share * forResponses), maxShare.responses);
  const whilePageIsRead = Math.floor(responses / pagesAtATime);
  return {
    logs: fitting,
    responses,
    maxPage: whilePageIsRead - besidePage,
    maxPageEntry,
    whilePageIsRead,
    whileEntryIsRead: minShare.responses,
    batch: between(minShare.batch, Math.floor(share - responses), maxShare.batch),
  };
}

function between(min: number, value: number, max: number): number {
  return Math.max(min, Math.min(max, value));
}
