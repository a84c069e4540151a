import { isLagging } from '@certwright/ct';
import type { CtLogEntity } from '@certwright/ct-schema';
import { Round } from '@certwright/service';
import type { CtLogs } from '../logs/ct-logs';
import { Lateness } from './lateness';

const restMs = 15_000;

/** Including the interval between checks, and turns of other logs: an alarm is raised within 15 minutes. */
const maxLateMs = 10 * 60_000;

export interface WatchEvents {
  /**
   * All logs that are or were followed.
   *
   * @param lateMs of each that is followed, by its id
   */
  seen(logs: readonly CtLogEntity[], lateMs: ReadonlyMap<number, number>): void;
  lags(log: CtLogEntity, lateMs: number): void;
  caughtUp(log: CtLogEntity): void;
  /** The log has returned nothing usable for minutes: no response, garbage, or heads that it did not sign. */
  fails(log: CtLogEntity): void;
  recovered(log: CtLogEntity): void;
}

/** Consecutive failures before an alarm: at least two minutes of back-off. */
const minFailures = 8;

/** Monitors all logs, whichever process follows them, and reports when one starts or stops lagging or failing. */
export class WatchLogs {
  private readonly lagging = new Set<number>();
  private readonly lateness = new Map<number, Lateness>();
  private readonly failing = new Set<number>();

  constructor(
    private readonly logs: Pick<CtLogs, 'all'>,
    private readonly events: WatchEvents,
    private readonly now: () => number,
  ) {}

  @Round('watch')
  async run(): Promise<number> {
    const logs = await this.logs.all();
    const lateMs = new Map(logs.map((log) => [log.id, this.lateMs(log)] as const));
    this.events.seen(logs, lateMs);
    for (const log of logs) this.check(log, lateMs.get(log.id) ?? 0);
    return restMs;
  }

  private lateMs(log: CtLogEntity): number {
    if (!isFollowed(log)) {
      this.lateness.delete(log.id);
      return 0;
    }
    const nowMs = this.now();
    const lateness = this.lateness.get(log.id) ?? new Lateness(nowMs);
    this.lateness.set(log.id, lateness);
    return lateness.look(log, nowMs);
  }

  private check(log: CtLogEntity, lateMs: number): void {
    const lags = isFollowed(log) && (lateMs > maxLateMs || isLagging(log, this.now()));
    if (changes(this.lagging, log.id, lags)) {
      if (lags) this.events.lags(log, lateMs);
      else this.events.caughtUp(log);
    }
    const fails = isFollowed(log) && log.failures >= minFailures;
    if (changes(this.failing, log.id, fails)) this.events[fails ? 'fails' : 'recovered'](log);
  }
}

/** A stopped log has a separate alarm. */
function isFollowed({ enabled, stoppedAt }: CtLogEntity): boolean {
  return enabled && stoppedAt === null;
}

/** Whether a condition of a log began or ended. */
function changes(ids: Set<number>, id: number, is: boolean): boolean {
  if (is === ids.has(id)) return false;
  if (is) ids.add(id);
  else ids.delete(id);
  return true;
}
