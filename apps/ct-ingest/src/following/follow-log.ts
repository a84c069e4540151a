import { CompactTree, verifyConsistency } from '@certwright/ct';
import {
  type CtLogEntity,
  type CtLogs,
  type LeasedLog,
  type LogLease,
  LogLeaseLost,
} from '@certwright/ct-persistence';
import { isDatabaseUnreachable } from '@certwright/errors';
import { releaseAfterOutage } from '@certwright/service';
import type { LogApi, VerifiedHead } from '../log-api/log-api';
import { LogMisbehaves, LogUnavailable } from '../log-api/log-faults';
import type { PerLog } from '../log-list/per-log';
import type { BodyPacker } from '../packing/body-packer';
import type { Reading } from './batch';
import type { FollowEvents } from './follow-events';
import { holdLease } from './held-lease';
import { ingestEntries } from './ingest-entries';
import { type Head, judgeHead } from './judge-head';
import { restAfterFailure, restOfFollowed } from './rest';
import { type Start, startIndex } from './start-point';

export interface FollowOptions {
  readonly logs: CtLogs;
  /** @throws LogUnavailable for a log that cannot be asked at all */
  readonly apiOf: (log: CtLogEntity) => LogApi;
  readonly reading: Reading;
  readonly packer: BodyPacker;
  readonly events: FollowEvents;
  readonly start: PerLog<Start>;
  readonly parallel: PerLog<number>;
  readonly leaseMs: number;
  readonly turnMs: number;
  readonly pollIntervalMs: number;
  readonly stalePatienceMs: number;
  readonly random: () => number;
}

/** A log in this process's hands, for one turn. */
interface Turn extends LeasedLog {
  readonly api: LogApi;
  readonly signal: AbortSignal;
}

/** Follows whichever log is leased to it. */
export class FollowLog {
  /** Since when logs have answered with older heads, by their ids, `performance.now()`. */
  private readonly staleSince = new Map<number, number>();

  constructor(private readonly options: FollowOptions) {}

  /** One turn of a log; it is given back at the end. Throws nothing. */
  async turn(leased: LeasedLog, stopping: AbortSignal): Promise<void> {
    const { logs, events, leaseMs } = this.options;
    const held = holdLease(logs, leased.lease, leaseMs, stopping);
    try {
      const restMs = await this.follow(leased, held.signal);
      await logs.release(leased.lease, restMs);
    } catch (error) {
      // No failure of the log.
      const isOutage = isDatabaseUnreachable(error);
      const ended = isOutage ? Promise.reject(error as Error) : this.ended(leased, error, stopping);
      await ended.catch((unforeseen: unknown) => {
        if (unforeseen instanceof LogLeaseLost) return events.leaseLost(leased.log);
        events.stumbled(leased.log, unforeseen);
        const release = async () => await logs.release(leased.lease, 0);
        void releaseAfterOutage(unforeseen, release, { forMs: leaseMs, signal: stopping });
      });
    } finally {
      held.end();
    }
  }

  /** @returns how long the log may rest, ms */
  private async follow(leased: LeasedLog, signal: AbortSignal): Promise<number> {
    const { logs, reading, packer, events, parallel, turnMs, pollIntervalMs, random } = this.options;
    const { log, lease } = leased;
    const untilMs = performance.now() + turnMs;
    const turn: Turn = { ...leased, api: this.options.apiOf(log), signal };
    const head = await this.headToFollow(turn);
    const tree = await this.treeOf(turn, head);
    if (tree.size === head.treeSize && !tree.root().equals(head.rootHash))
      throw new LogMisbehaves('root', `What was ingested does not hash to the root of ${tree.size} entries.`);
    await ingestEntries({
      ...{ logs, reading, packer, events, log, lease, api: turn.api, tree, head },
      ...{ parallel: parallel.of(log), untilMs, signal },
    });
    return tree.size < head.treeSize ? 0 : restOfFollowed(log, pollIntervalMs, reading.now(), random);
  }

  /** The newest head, proved to continue the one that is kept, which it takes the place of. */
  private async headToFollow({ log, lease, api, signal }: Turn): Promise<VerifiedHead> {
    const { logs } = this.options;
    const kept = keptHead(log);
    const head = await api.head(signal);
    const verdict = judgeHead(kept, head);
    if (verdict instanceof LogMisbehaves) throw verdict;
    if (verdict === 'stale' && kept !== null) return this.keptInstead(log, kept, head);
    this.staleSince.delete(log.id);
    if (verdict === 'larger' && kept !== null) await proveContinued(kept, head, api, signal);
    if (verdict !== 'same') await logs.saveHead(lease, savedHead(head));
    return head;
  }

  private keptInstead(log: CtLogEntity, kept: VerifiedHead, head: Head): VerifiedHead {
    const now = performance.now();
    const since = this.staleSince.get(log.id) ?? now;
    this.staleSince.set(log.id, since);
    if (now - since < this.options.stalePatienceMs) return kept;
    // When an operator starts it again, it is waited for again.
    this.staleSince.delete(log.id);
    const sizes = `${head.treeSize} entries where it had ${kept.treeSize}`;
    throw new LogMisbehaves('rollback', `The log keeps answering with an old head of ${sizes}.`);
  }

  /** Of what was ingested; where nothing was, of what lies before the start. */
  private async treeOf({ log, lease, api, signal }: Turn, head: VerifiedHead): Promise<CompactTree> {
    if (log.treeState.length > 0) {
      const tree = CompactTree.restore(log.treeState);
      if (tree?.size === Number(log.position)) return tree;
      throw new Error(`the tree state of log ${log.id} is not that of its position ${log.position}`);
    }
    const timestampAt = async (at: number) => (await api.timestampAt(at, head, signal)) || null;
    const index = await startIndex(this.startOf(log), head.treeSize, timestampAt);
    const tree = index === 0 ? CompactTree.empty() : await api.treeOf(index, head, signal);
    const from = { size: index, root: tree.root() };
    const proof = await api.consistencyProof(index, head, signal);
    if (!verifyConsistency(from, { size: head.treeSize, root: head.rootHash }, proof))
      throw new LogUnavailable(`The log does not prove what its first ${index} entries are.`);
    await this.options.logs.beginAt(lease, BigInt(index), tree.serialize());
    this.options.events.began(log, index);
    return tree;
  }

  /** Where an operator began the log anew, or else as the settings say. */
  private startOf(log: CtLogEntity): Start {
    const index = Number(log.position);
    return index > 0 ? { at: 'index', index } : this.options.start.of(log);
  }

  private async ended({ log, lease }: LeasedLog, error: unknown, stopping: AbortSignal): Promise<void> {
    const { logs, events, random } = this.options;
    if (error instanceof LogLeaseLost) return events.leaseLost(log);
    if (error instanceof LogMisbehaves) {
      await logs.stop(lease, `${error.kind}: ${error.message}`);
      return events.stopped(log, error);
    }
    if (stopping.aborted) return await logs.release(lease, 0);
    const retryAfterMs = error instanceof LogUnavailable ? error.retryAfterMs : null;
    const restMs = restAfterFailure(await this.failures(log, lease), retryAfterMs, random);
    if (error instanceof LogUnavailable) {
      await logs.release(lease, restMs, error.message);
      return events.unavailable(log, error.message, restMs);
    }
    events.stumbled(log, error);
    await logs.release(lease, restMs, 'unforeseen');
  }

  /** In a row, with this one: a batch that was committed ended the row. */
  private async failures(before: CtLogEntity, { log }: LogLease): Promise<number> {
    const now = (await this.options.logs.all()).find(({ id }) => id === log);
    return (now?.failures ?? before.failures) + 1;
  }
}

async function proveContinued(
  kept: Head,
  head: VerifiedHead,
  api: LogApi,
  signal: AbortSignal,
): Promise<void> {
  const proof = await api.consistencyProof(kept.treeSize, head, signal);
  const from = { size: kept.treeSize, root: kept.rootHash };
  if (verifyConsistency(from, { size: head.treeSize, root: head.rootHash }, proof)) return;
  const sizes = `its ${head.treeSize} entries continue the ${kept.treeSize} from before`;
  throw new LogMisbehaves('fork', `The log does not prove that ${sizes}.`);
}

function keptHead({ headSize, headRoot, headAt, headSigned }: CtLogEntity): VerifiedHead | null {
  if (headRoot === null || headAt === null || headSigned === null) return null;
  return { treeSize: Number(headSize), rootHash: headRoot, timestamp: headAt.getTime(), signed: headSigned };
}

function savedHead({ treeSize, rootHash, timestamp, signed }: VerifiedHead) {
  return { size: BigInt(treeSize), root: rootHash, at: new Date(timestamp), signed };
}
