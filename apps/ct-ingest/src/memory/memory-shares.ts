const mebibyte = 1_048_576;

/**
 * For the process itself, its caches (recent issuances, issuers, chains), the threads that pack, batches that are being committed, and
 * garbage that is not collected yet; bytes. Measured: tools/bench/ct/faulty-logs.mjs.
 */
const setAside = 240 * mebibyte;

/** A log whose share would be smaller is not followed beside the others: it waits for its turn. Bytes. */
const minShare = { answers: 5 * mebibyte, batch: 2 * mebibyte };

/** More brings nothing: 2,048 entries are a batch. Bytes. */
const maxShare = { answers: 24 * mebibyte, batch: 9 * mebibyte };

/** Of a share, for answers; the rest is for the batch. */
const forAnswers = 0.7;

/** Answers that are fetched ahead side by side, while each takes as much as it may. */
const pagesAtATime = 3;

/** Bytes of memory beside the entries that are held, while an answer is read: pieces of it, and the entry that is being read. */
const besidePage = mebibyte / 2;

/** Bytes of an entry as it is sent. A longer one is fetched by itself, with all of its log's share. */
const maxPageEntry = 262_144;

/**
 * How the memory that the process may take is shared out. Each log that is followed has a share of its own from the beginning of its
 * turn to the end: it never waits for memory that another log holds. Bytes.
 */
export interface MemoryShares {
  /** Logs that have a share at the same time. */
  readonly logs: number;
  /** Of one log, for answers under way or not yet read. */
  readonly answers: number;
  /** Of entries that are held of an answer. */
  readonly maxPage: number;
  readonly maxPageEntry: number;
  readonly whilePageIsRead: number;
  /** While the longest entry that is indexed is read by itself. */
  readonly whileEntryIsRead: number;
  /** Of one log, for issuances that are not committed yet, as `Batch` weighs them. */
  readonly batch: number;
}

/** @param logs that are to be followed at the same time, at most */
export function memoryShares(limitMib: number, logs: number): MemoryShares {
  const shared = limitMib * mebibyte - setAside;
  const fitting = Math.max(1, Math.min(logs, Math.floor(shared / (minShare.answers + minShare.batch))));
  const share = shared / fitting;
  const answers = between(minShare.answers, Math.floor(share * forAnswers), maxShare.answers);
  const whilePageIsRead = Math.floor(answers / pagesAtATime);
  return {
    logs: fitting,
    answers,
    maxPage: whilePageIsRead - besidePage,
    maxPageEntry,
    whilePageIsRead,
    whileEntryIsRead: minShare.answers,
    batch: between(minShare.batch, Math.floor(share - answers), maxShare.batch),
  };
}

function between(min: number, value: number, max: number): number {
  return Math.max(min, Math.min(max, value));
}
