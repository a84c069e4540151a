import type { CtLogEntity } from '@certwright/ct-schema';
import type { CtLogs, LeasedLog } from '../logs/ct-logs';
import type { LogApi, VerifiedHead } from '../log-api/log-api';
import { LogMisbehaves, LogUnavailable } from '../log-api/log-faults';
import { checkHead, proveContinued } from './check-head';

/** A log for one turn. */
export interface Turn extends LeasedLog {
  readonly api: LogApi;
  readonly signal: AbortSignal;
}

/** Selects the head of a log to follow: the newest one, after a check that every head that the log signed is consistent with it. */
export class NewestHead {
  /** When each log, by id, began to return smaller heads, as `performance.now()`. */
  private readonly smallerSince = new Map<number, number>();
  /** The last smaller head of each log that was proved: not proved again while the log returns it. */
  private readonly proved = new Map<number, string>();

  constructor(
    private readonly logs: Pick<CtLogs, 'saveHead' | 'unproven' | 'proved'>,
    private readonly stalePatienceMs: number,
  ) {}

  /** @throws LogMisbehaves, LogUnproven, LogUnavailable, LeaseLost */
  async of(turn: Turn): Promise<VerifiedHead> {
    const { log, lease, api, signal } = turn;
    const kept = keptHead(log);
    const head = await api.head(signal);
    const verdict = checkHead(kept, head);
    if (verdict instanceof LogMisbehaves) throw verdict;
    if (verdict === 'smaller' && kept !== null) return await this.keptInstead(turn, kept, head);
    this.smallerSince.delete(log.id);
    if (verdict === 'larger' && kept !== null) await proveContinued({ kept, head }, api, signal);
    if (verdict !== 'same') await this.logs.saveHead(lease, savedHead(head));
    await this.proveAnother(turn, head);
    return head;
  }

  /** A smaller head must be a prefix of the kept one. If it is returned for too long, it is a rollback. */
  private async keptInstead(turn: Turn, kept: VerifiedHead, head: VerifiedHead): Promise<VerifiedHead> {
    const { log, api, signal } = turn;
    const isOverdue = this.isOverdue(log.id);
    const name = `${kept.treeSize} ${head.treeSize} ${head.rootHash.toString('base64')}`;
    try {
      if (this.proved.get(log.id) !== name) await proveContinued({ kept, head }, api, signal);
      this.proved.set(log.id, name);
    } catch (error) {
      if (!isOverdue || !(error instanceof LogUnavailable)) throw error;
    }
    if (!isOverdue) return kept;
    // When an operator resumes the log, the time limit restarts.
    this.smallerSince.delete(log.id);
    const sizes = `${head.treeSize} entries where it had ${kept.treeSize}`;
    const evidence = { head, kept, computed: null, proof: null };
    throw new LogMisbehaves('rollback', `The log keeps returning an old head of ${sizes}.`, evidence);
  }

  private isOverdue(log: number): boolean {
    const now = performance.now();
    const since = this.smallerSince.get(log) ?? now;
    this.smallerSince.set(log, since);
    return now - since >= this.stalePatienceMs;
  }

  /** A head that the log could not prove when it returned it. Until it can, the log is followed nevertheless. */
  private async proveAnother({ lease, api, signal }: Turn, kept: VerifiedHead): Promise<void> {
    const unproven = await this.logs.unproven(lease, BigInt(kept.treeSize));
    if (unproven === null) return;
    const head: VerifiedHead = {
      treeSize: Number(unproven.headSize),
      rootHash: unproven.headRoot,
      timestamp: unproven.headAt.getTime(),
      signed: unproven.headSigned,
    };
    try {
      if (head.treeSize === kept.treeSize) {
        const verdict = checkHead(kept, head);
        if (verdict instanceof LogMisbehaves) throw verdict;
      } else await proveContinued({ kept, head }, api, signal);
    } catch (error) {
      if (error instanceof LogUnavailable) return;
      throw error;
    }
    await this.logs.proved(unproven);
  }
}

function keptHead({ headSize, headRoot, headAt, headSigned }: CtLogEntity): VerifiedHead | null {
  if (headRoot === null || headAt === null || headSigned === null) return null;
  return { treeSize: Number(headSize), rootHash: headRoot, timestamp: headAt.getTime(), signed: headSigned };
}

export function savedHead({ treeSize, rootHash, timestamp, signed }: VerifiedHead) {
  return { size: BigInt(treeSize), root: rootHash, at: new Date(timestamp), signed };
}
