const mebibyte = 1_048_576;

/** Memory needed to follow logs (see `memoryShares`), MiB. */
const followingMib = 384;

/** If nothing is left: the part of the memory set aside there that is used for lists, MiB. */
const minMib = 24;

/** Bytes of memory per byte of a list while it is read. */
const memoryPerByte = 2;

export interface CrlMemory {
  /** Part of MEMORY_LIMIT for following logs, MiB. */
  readonly followingMib: number;
  /** For all lists together, bytes. */
  readonly lists: number;
  /** Max size of a list, bytes. */
  readonly maxList: number;
}

/** Divides MEMORY_LIMIT between logs and lists: the longest list must fit, as far as logs can still be followed. */
export function crlMemory(limitMib: number, maxListMib: number): CrlMemory {
  const wanted = maxListMib * memoryPerByte;
  const listsMib = Math.min(wanted, Math.max(minMib, limitMib - followingMib));
  return {
    followingMib: Math.max(followingMib, limitMib - listsMib),
    lists: listsMib * mebibyte,
    maxList: Math.floor(Math.min(maxListMib, listsMib / memoryPerByte) * mebibyte),
  };
}
