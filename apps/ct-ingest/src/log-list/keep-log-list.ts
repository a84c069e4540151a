import type { LogList } from '@certwright/ct';
import type { CtLogs } from '../logs/ct-logs';
import { followedLogs, type WantedLogs } from './followed-logs';

export interface ListEvents {
  /** @param followed number of listed logs that are followed from now on */
  kept(followed: number, listed: number): void;
  /** A log that is skipped because its entry in the list is invalid. */
  faulty(log: string, fault: string): void;
}

/** Replaces the followed logs with those of the current list. If that fails, the previous ones stay. */
export class KeepLogList {
  private last = '';

  constructor(
    private readonly logs: Pick<CtLogs, 'all' | 'keep'>,
    private readonly fetch: () => Promise<LogList>,
    private readonly wanted: WantedLogs,
    private readonly events: ListEvents,
    private readonly now: () => number,
  ) {}

  async run(): Promise<void> {
    const list = await this.fetch();
    const rows = await this.logs.all();
    const begun = new Set(
      rows.filter(({ position }) => position !== '0').map(({ logId }) => logId.toString('hex')),
    );
    const logs = followedLogs(list, this.wanted, begun, this.now());
    await this.logs.keep(logs);
    this.report(list, logs.filter(({ enabled }) => enabled).length);
  }

  /** Once per change. */
  private report({ logs, faults }: LogList, followed: number): void {
    const said = JSON.stringify([logs.length, followed, faults]);
    if (said === this.last) return;
    this.last = said;
    this.events.kept(followed, logs.length);
    for (const { log, fault } of faults) this.events.faulty(log, fault);
  }
}
