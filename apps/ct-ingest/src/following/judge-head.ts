import { LogMisbehaves } from '../log-api/log-faults';

export interface Head {
  readonly treeSize: number;
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  readonly rootHash: Buffer;
}

/**
 * What a head is beside the one that is kept: `new` it may be kept at once; `larger` once it is proved to continue the other; `same`;
 * `stale` one from before, as a mirror or a cache may still have.
 */
export type HeadVerdict = 'new' | 'larger' | 'same' | 'stale' | LogMisbehaves;

/** @param kept null: none is */
export function judgeHead(kept: Head | null, head: Head): HeadVerdict {
  if (kept === null) return 'new';
  if (head.treeSize > kept.treeSize) return 'larger';
  if (head.treeSize < kept.treeSize) {
    if (head.timestamp <= kept.timestamp) return 'stale';
    const sizes = `${head.treeSize} entries after ${kept.treeSize}`;
    return new LogMisbehaves('rollback', `The log has signed a newer head with ${sizes}.`);
  }
  if (!head.rootHash.equals(kept.rootHash))
    return new LogMisbehaves('fork', `The log has signed two roots for ${head.treeSize} entries.`);
  return head.timestamp > kept.timestamp ? 'new' : 'same';
}
