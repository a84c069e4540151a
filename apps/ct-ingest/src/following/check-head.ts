import { checkConsistency } from '@certwright/ct';
import type { LogApi, VerifiedHead } from '../log-api/log-api';
import { type Evidence, LogMisbehaves, LogUnproven } from '../log-api/log-faults';

/**
 * How a signed head compares with the kept one: `new` can be kept immediately; `larger` and `smaller` once the log proves that one is
 * consistent with the other; `same`. A smaller, older head may come from a mirror or a cache.
 */
export type HeadVerdict = 'new' | 'larger' | 'smaller' | 'same' | LogMisbehaves;

/** @param kept null: no head is kept */
export function checkHead(kept: VerifiedHead | null, head: VerifiedHead): HeadVerdict {
  if (kept === null) return 'new';
  if (head.treeSize > kept.treeSize) return 'larger';
  const evidence: Evidence = { head, kept, computed: null, proof: null };
  if (head.treeSize < kept.treeSize) {
    if (head.timestamp <= kept.timestamp) return 'smaller';
    const sizes = `${head.treeSize} entries after ${kept.treeSize}`;
    return new LogMisbehaves('rollback', `The log has signed a newer head with ${sizes}.`, evidence);
  }
  if (!head.rootHash.equals(kept.rootHash))
    return new LogMisbehaves('fork', `The log has signed two roots for ${head.treeSize} entries.`, evidence);
  return head.timestamp > kept.timestamp ? 'new' : 'same';
}

/**
 * Requests a proof that the smaller of two signed heads is a prefix of the larger one.
 *
 * @throws LogMisbehaves when the proof shows that it is not; LogUnproven when the proof is invalid; LogUnavailable
 */
export async function proveContinued(
  { kept, head }: { readonly kept: VerifiedHead; readonly head: VerifiedHead },
  api: LogApi,
  signal: AbortSignal,
): Promise<void> {
  const [smaller, larger] = head.treeSize < kept.treeSize ? [head, kept] : [kept, head];
  const proof = await api.consistencyProof(smaller.treeSize, larger, signal);
  const verdict = checkConsistency(stateOf(smaller), stateOf(larger), proof);
  if (verdict === 'consistent') return;
  const evidence: Evidence = { head, kept, computed: null, proof };
  const sizes = `${larger.treeSize} entries continue its ${smaller.treeSize}`;
  if (verdict === 'contradictory')
    throw new LogMisbehaves('fork', `The log has signed two histories: none of its ${sizes}.`, evidence);
  throw new LogUnproven('fork', `The log does not prove that its ${sizes}.`, evidence);
}

function stateOf({ treeSize, rootHash }: VerifiedHead) {
  return { size: treeSize, root: rootHash };
}
