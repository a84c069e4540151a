import { LeaseLost } from '@certwright/postgres';
import { databaseOutage } from '@certwright/errors';
import { type IssuanceError, nextAfterStall, nextAttempt, nextUnexpectedAttempt } from '@certwright/issuance';
import { type IssuanceProgress } from '@certwright/ordering';
import { releaseAfterOutage } from '@certwright/service';
import { annotateSpan } from '@certwright/tracing';
import { leaseMs } from './held-lease';
import type { IssuanceEvents } from './issuance-events';
import type { StoredWork, PublishedProgress } from './published-progress';

/** The issuance in progress, and since when temporary CA failures have ended its attempts. */
interface StalledWork extends StoredWork {
  readonly stalledSince: Date | null;
  /** The current time of the database. */
  readonly clock: () => Date;
}

/** How a run of an issuance ends for now: stored, reported, and the lease released. */
export class RunEnds {
  constructor(
    private readonly progress: PublishedProgress,
    private readonly events: IssuanceEvents,
  ) {}

  /** @param atLatest the back-off ends then at the latest; null: no bound */
  async fail(
    run: StoredWork,
    error: IssuanceError,
    final: boolean,
    now: Date,
    also: IssuanceProgress = {},
    atLatest: Date | null = null,
  ): Promise<null> {
    annotateSpan({ 'certwright.outcome': codeOf(error), 'certwright.is_final': final });
    this.events.failed(run.issuance, error, final);
    if (final) return await this.end(run, { ...also, state: 'failed', lastError: error });
    const failures = run.issuance.failures + 1;
    const backedOff = nextAttempt(failures, now, run.validUntil);
    const dueAt = atLatest !== null && atLatest < backedOff ? atLatest : backedOff;
    return await this.end(run, { ...also, failures, lastError: error, dueAt });
  }

  /** Waits for something that is not a failure. */
  async rest(run: StoredWork, error: IssuanceError, until: Date, also: IssuanceProgress = {}): Promise<null> {
    annotateSpan({ 'certwright.outcome': codeOf(error) });
    this.events.resting(run.issuance, error, until);
    return await this.end(run, { ...also, lastError: error, dueAt: until });
  }

  /**
   * Temporary failures of a CA ended the attempt, and the CA serves others: it is retried soon, and has not failed
   * unless this has lasted for long.
   *
   * @param notBefore as the CA requests; null: not requested
   */
  async stall(
    run: StalledWork,
    error: IssuanceError,
    notBefore: Date | null,
    also: IssuanceProgress = {},
  ): Promise<null> {
    const now = run.clock();
    const since = run.stalledSince ?? now;
    const next = nextAfterStall(since, now, Math.random());
    if (next === null) return await this.fail(run, error, false, now, also);
    const until = notBefore !== null && notBefore > next ? notBefore : next;
    return await this.rest(run, { ...error, stalledSince: since.toISOString() }, until, also);
  }

  /** Stores the changes of a step and releases the lease: a worker continues when it is due. */
  async end(run: StoredWork, progress: IssuanceProgress): Promise<null> {
    await this.progress.save(run, progress, 'release');
    return null;
  }

  /** Outcome unknown: the row says where to continue; backs off, so that a lasting failure does not spin. */
  async unexpectedError(work: StoredWork, error: unknown, now: Date): Promise<void> {
    if (error instanceof LeaseLost) return this.events.leaseLost(work.issuance, error);
    this.events.unexpectedError(work.issuance, error);
    // The database was unavailable: no failure of the CA, and nothing could be stored. The sweep continues.
    if (databaseOutage(error) !== undefined) {
      void releaseAfterOutage(error, async () => await this.end(work, {}), { forMs: leaseMs });
      return;
    }
    const lastError: IssuanceError = {
      code: 'ca_unavailable',
      outcome: { code: 'ca_unreachable', authority: null, detail: '' },
    };
    this.events.failed(work.issuance, lastError, false);
    const failures = work.issuance.failures + 1;
    await this.end(work, { failures, lastError, dueAt: nextUnexpectedAttempt(failures, now) });
  }
}

const codeOf = ({ code, outcome }: IssuanceError): string => outcome?.code ?? code;
