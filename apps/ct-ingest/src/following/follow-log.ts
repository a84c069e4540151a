import { CompactTree, verifyConsistency } from '@certwright/ct';
import type { CtLogEntity } from '@certwright/ct-schema';
import { isDatabaseUnreachable } from '@certwright/errors';
import { LeaseLost } from '@certwright/postgres';
import { releaseAfterOutage } from '@certwright/service';
import { inSpan } from '@certwright/tracing';
import type { LogApi, VerifiedHead } from '../log-api/log-api';
import { type Evidence, LogMisbehaves, LogUnavailable, LogUnproven } from '../log-api/log-faults';
import type { PerLog } from '../log-list/per-log';
import type { CtLogs, LeasedLog, LogLease } from '../logs/ct-logs';
import type { LogEvidence } from '../logs/log-evidence';
import { Flushes } from '../memory/flushes';
import type { BodyPacker } from '../packing/body-packer';
import type { Reading } from './batch';
import type { FollowEvents } from './follow-events';
import { anotherRoot, ingestEntries } from './ingest-entries';
import { NewestHead, savedHead, type Turn } from './newest-head';
import { restAfterFailure, restOfFollowed } from './rest';
import { type Start, startIndex } from './start-point';
import { Waits } from './waits';

/** A lease that is renewed while its log is followed. */
interface HeldLease {
  /** Aborts when the lease has expired, or may have, or when the outer signal aborts. */
  readonly signal: AbortSignal;
  /** Stops renewing the lease. */
  end(): void;
}

function holdLease(
  logs: Pick<CtLogs, 'lengthen'>,
  lease: LogLease,
  leaseMs: number,
  outer: AbortSignal,
): HeldLease {
  const lost = new AbortController();
  let heldUntilMs = performance.now() + leaseMs;
  const lengthen = async () => {
    const requestedAtMs = performance.now();
    try {
      await logs.lengthen(lease, leaseMs);
      heldUntilMs = requestedAtMs + leaseMs;
    } catch (error) {
      if (error instanceof LeaseLost) lost.abort(error);
      else if (performance.now() > heldUntilMs) lost.abort(new LeaseLost('ct_log', lease.log, lease.token));
    }
  };
  const timer = setInterval(() => void lengthen(), leaseMs / 3);
  return { signal: AbortSignal.any([outer, lost.signal]), end: () => clearInterval(timer) };
}

/** A log without a successful request for this long no longer takes a place from other logs, ms. */
const slowAfterMs = 2_000;

export interface FollowOptions {
  readonly logs: CtLogs;
  /** @throws LogUnavailable when no request can be sent to the log */
  readonly apiOf: (log: CtLogEntity) => LogApi;
  readonly reading: Reading;
  readonly packer: BodyPacker;
  /** Max bytes of memory of a log's batch. */
  readonly maxBatch: number;
  readonly events: FollowEvents;
  readonly start: PerLog<Start>;
  readonly parallel: PerLog<number>;
  readonly leaseMs: number;
  readonly turnMs: number;
  readonly pollIntervalMs: number;
  readonly stalePatienceMs: number;
  readonly random: () => number;
}

/** Number of consecutive invalid proofs or wrong entries after which a log is stopped. */
const maxUnproven = 3;

/** Follows the log that is leased to it. */
export class FollowLog {
  private readonly newest: NewestHead;
  private readonly flushes = new Flushes();
  /** By log: how many of its consecutive failures were of this kind, as seen by this process. */
  private readonly unproven = new Map<number, { readonly unproven: number; readonly failures: number }>();

  constructor(private readonly options: FollowOptions) {
    this.newest = new NewestHead(options.logs, options.stalePatienceMs);
  }

  /**
   * One turn of a log; releases it at the end. Never throws.
   *
   * @param onSlow called when the log is slow, or immediately if it failed before
   */
  async turn(leased: LeasedLog, stopping: AbortSignal, onSlow: () => void = () => undefined): Promise<void> {
    const { logs, events, leaseMs } = this.options;
    const held = holdLease(logs, leased.lease, leaseMs, stopping);
    const waits = new Waits(slowAfterMs, onSlow);
    if (leased.log.failures > 0) onSlow();
    try {
      const attributes = { 'certwright.ct_log': leased.log.id };
      const restMs = await inSpan('follow log', { cause: null, attributes }, async () => {
        return await this.follow(leased, waits, held.signal);
      });
      await logs.release(leased.lease, restMs);
      this.unproven.delete(leased.log.id);
    } catch (error) {
      // Not a failure of the log.
      const isOutage = isDatabaseUnreachable(error);
      const ended = isOutage ? Promise.reject(error as Error) : this.ended(leased, error, stopping);
      await ended.catch((unforeseen: unknown) => {
        if (unforeseen instanceof LeaseLost) return events.leaseLost(leased.log);
        events.failed(leased.log, unforeseen);
        const release = async () => await logs.release(leased.lease, 0);
        void releaseAfterOutage(unforeseen, release, { forMs: leaseMs, signal: stopping });
      });
    } finally {
      waits.end();
      held.end();
    }
  }

  /** @returns how long the log rests, ms */
  private async follow(leased: LeasedLog, waits: Waits, signal: AbortSignal): Promise<number> {
    const { logs, reading, packer, maxBatch, events, turnMs, pollIntervalMs, random } = this.options;
    const { log, lease } = leased;
    const untilMs = performance.now() + turnMs;
    if (await logs.lacksCommitted(log)) {
      reading.recent.forget();
      events.restored();
    }
    const turn: Turn = { ...leased, api: waits.of(this.options.apiOf(log)), signal };
    // A log that failed must respond once before more requests are sent.
    const parallel = log.failures > 0 ? 1 : this.options.parallel.of(log);
    const head = await this.newest.of(turn);
    const tree = await this.treeOf(turn, head);
    const computed = { size: tree.size, root: tree.root() };
    // These entries are stored: a retry would not read them again.
    if (tree.size === head.treeSize && !computed.root.equals(head.rootHash))
      throw new LogMisbehaves('root', anotherRoot(tree.size), { head, kept: null, computed, proof: null });
    await ingestEntries({
      ...{ logs, reading, packer, maxBatch, events, log, lease, api: turn.api, tree, head },
      ...{ flushes: this.flushes, parallel, untilMs, signal },
    });
    return tree.size < head.treeSize ? 0 : restOfFollowed(log, pollIntervalMs, reading.now(), random);
  }

  /** Timestamp of the last ingested entry; if none was ingested, of the entry before the start. */
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

  /** The start that an operator set, otherwise the configured one. */
  private startOf(log: CtLogEntity): Start {
    const index = Number(log.position);
    return index > 0 ? { at: 'index', index } : this.options.start.of(log);
  }

  private async ended({ log, lease }: LeasedLog, error: unknown, stopping: AbortSignal): Promise<void> {
    const { logs, events, random } = this.options;
    if (error instanceof LeaseLost) return events.leaseLost(log);
    if (error instanceof LogMisbehaves) return await this.stop(log, lease, error);
    if (stopping.aborted) return await logs.release(lease, 0);
    const failures = await this.failures(log, lease);
    if (failures === 1) this.unproven.delete(log.id);
    if (error instanceof LogUnproven) {
      const { kind, message, evidence } = error;
      const before = this.unproven.get(log.id);
      const unproven = before !== undefined && before.failures < failures ? before.unproven + 1 : 1;
      this.unproven.set(log.id, { unproven, failures });
      if (unproven >= maxUnproven)
        return await this.stop(log, lease, new LogMisbehaves(kind, message, evidence), false);
      if (kind === 'fork' && (await logs.keepUnproven(lease, message, evidenceOf(evidence))))
        events.unproven(log, error);
    }
    const retryAfterMs = error instanceof LogUnavailable ? error.retryAfterMs : null;
    const restMs = restAfterFailure(failures, retryAfterMs, random);
    if (error instanceof LogUnavailable) {
      await logs.release(lease, restMs, error.message);
      return events.unavailable(log, error.message, restMs);
    }
    events.failed(log, error);
    await logs.release(lease, restMs, 'unforeseen');
  }

  private async stop(
    log: CtLogEntity,
    lease: LogLease,
    fault: LogMisbehaves,
    isProved = true,
  ): Promise<void> {
    const { logs, events } = this.options;
    await logs.stop(lease, fault.kind, fault.message, evidenceOf(fault.evidence), isProved);
    events.stopped(log, fault);
  }

  /** Consecutive, including this one; a committed batch resets the count. */
  private async failures(before: CtLogEntity, { log }: LogLease): Promise<number> {
    const now = (await this.options.logs.all()).find(({ id }) => id === log);
    return (now?.failures ?? before.failures) + 1;
  }
}

function evidenceOf({ head, kept, computed, proof }: Evidence): LogEvidence {
  return {
    head: savedHead(head),
    keptSigned: kept?.signed ?? null,
    computed: computed === null ? null : { size: BigInt(computed.size), root: computed.root },
    proof,
  };
}
