const mebibyte = 1_048_576;

/** What following logs needs: `memoryShares` says for what. MiB */
const followingMib = 384;

/** Where nothing is left beside that: so much of what is set aside there, MiB. */
const leastMib = 24;

/** Octets in memory per octet of a list while it is read. */
const perOctet = 2;

export interface CrlMemory {
  /** Of MEMORY_LIMIT, for following logs. MiB */
  readonly followingMib: number;
  /** For lists, all together, octets. */
  readonly lists: number;
  /** Of the longest list, octets. */
  readonly longestList: number;
}

/** Shares MEMORY_LIMIT between logs and lists: the longest list fits in, as far as following goes on beside it. */
export function crlMemory(limitMib: number, longestListMib: number): CrlMemory {
  const wanted = longestListMib * perOctet;
  const listsMib = Math.min(wanted, Math.max(leastMib, limitMib - followingMib));
  return {
    followingMib: Math.max(followingMib, limitMib - listsMib),
    lists: listsMib * mebibyte,
    longestList: Math.floor(Math.min(longestListMib, listsMib / perOctet) * mebibyte),
  };
}
