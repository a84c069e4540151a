const mebibyte = 1_048_576;

/** A leaf and a precertificate of 2^24 octets, and a chain of as many, in base64 and JSON: the longest entry there can be. */
const longestEntryAnswer = 68 * mebibyte;

/** Octets in memory per octet of a JSON answer while it is read: the body, its text, what is sliced from it, and what that decodes to. */
const perOctetOfJson = 4;

/** For the process itself, its caches, and the batches on their way to the database. */
const setAsideOctets = 192 * mebibyte;

/** How the memory that a process may take is shared out. Octets. */
export interface MemoryShares {
  /** For answers under way or not yet read, of all logs together. */
  readonly answers: number;
  /** Of an ordinary answer: a longer one is fetched anew in smaller parts. */
  readonly page: number;
  /** While an ordinary answer is fetched and read. */
  readonly whilePageIsRead: number;
  /** Of an answer with a single entry. */
  readonly singleEntry: number;
  readonly whileSingleEntryIsRead: number;
  /** While a data tile is read piece by piece: its largest entry, and what is kept of it. */
  readonly whileTileIsTaken: number;
  /** Of entries that are kept of such a tile at a time. */
  readonly keptOfTile: number;
}

export function memoryShares(limitMib: number): MemoryShares {
  const answers = limitMib * mebibyte - setAsideOctets;
  const page = Math.min(8 * mebibyte, Math.floor(answers / 40));
  const singleEntry = Math.min(longestEntryAnswer, Math.floor(answers / perOctetOfJson));
  return {
    answers,
    page,
    whilePageIsRead: page * perOctetOfJson,
    singleEntry,
    whileSingleEntryIsRead: singleEntry * perOctetOfJson,
    whileTileIsTaken: Math.min(answers, 112 * mebibyte),
    keptOfTile: 16 * mebibyte,
  };
}
