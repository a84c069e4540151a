import { isLagging } from '@certwright/ct';
import type { CtLogEntity, CtLogs } from '@certwright/ct-persistence';

const restMs = 15_000;

export interface WatchEvents {
  /** All logs that are or were followed. */
  seen(logs: readonly CtLogEntity[]): void;
  lags(log: CtLogEntity): void;
  caughtUp(log: CtLogEntity): void;
  /** It has given nothing that can be used for minutes: no answer, garbage, heads that it did not sign. */
  fails(log: CtLogEntity): void;
  recovered(log: CtLogEntity): void;
}

/** Failures in a row until an operator is told: two minutes of back-off at least. */
const minFailures = 8;

/** Looks at all logs, whoever follows them, and reports when one begins or ceases to lag, or to fail. */
export class WatchLogs {
  private readonly lagging = new Set<number>();
  private readonly failing = new Set<number>();

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
    const isFollowed = log.enabled && log.stoppedAt === null;
    const lags = isFollowed && isLagging(log, this.now());
    if (changes(this.lagging, log.id, lags)) this.events[lags ? 'lags' : 'caughtUp'](log);
    const fails = isFollowed && log.failures >= minFailures;
    if (changes(this.failing, log.id, fails)) this.events[fails ? 'fails' : 'recovered'](log);
  }
}

/** Whether something is the case of a log that was not, or the other way round. */
function changes(ids: Set<number>, id: number, is: boolean): boolean {
  if (is === ids.has(id)) return false;
  if (is) ids.add(id);
  else ids.delete(id);
  return true;
}
