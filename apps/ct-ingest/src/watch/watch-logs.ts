import { isLagging } from '@certwright/ct';
import type { CtLogEntity, CtLogs } from '@certwright/ct-persistence';

const restMs = 15_000;

export interface WatchEvents {
  /** All logs that are or were followed. */
  seen(logs: readonly CtLogEntity[]): void;
  lags(log: CtLogEntity): void;
  caughtUp(log: CtLogEntity): void;
}

/** Looks at all logs, whoever follows them, and tells when one begins or ceases to lag. */
export class WatchLogs {
  private readonly lagging = new Set<number>();

  constructor(
    private readonly logs: Pick<CtLogs, 'all'>,
    private readonly events: WatchEvents,
    private readonly now: () => number,
  ) {}

  /** @returns how long to rest, ms */
  async run(): Promise<number> {
    const logs = await this.logs.all();
    this.events.seen(logs);
    for (const log of logs) this.judge(log);
    return restMs;
  }

  private judge(log: CtLogEntity): void {
    // One that was stopped has an alarm of its own.
    const lags = log.enabled && log.stoppedAt === null && isLagging(log, this.now());
    if (lags === this.lagging.has(log.id)) return;
    if (lags) this.lagging.add(log.id);
    else this.lagging.delete(log.id);
    if (lags) this.events.lags(log);
    else this.events.caughtUp(log);
  }
}
