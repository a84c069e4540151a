import type { LogList } from '@certwright/ct';
import type { CtLogs } from '../logs/ct-logs';
import { SettingsError } from '@certwright/service';
import { followedLogs, selectableStates, type WantedLogs } from './followed-logs';

export interface ListEvents {
  /** @param followed number of listed logs that are followed from now on */
  kept(followed: number, listed: number): void;
  /** A log that is skipped because its entry in the list is invalid. */
  faulty(log: string, fault: string): void;
  /** A name in LOGS that no log has. */
  unknown(name: string): void;
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

  /**
   * At the start. While the list is unavailable nothing is checked: what was followed before is followed.
   *
   * @throws SettingsError when LOGS selects no log
   */
  async check(): Promise<void> {
    if (!this.wanted.isOfNames) return;
    const list = await this.fetch().catch(() => null);
    if (list === null) return;
    const unknown = this.wanted.unknownNames(list, await this.logs.all());
    if (unknown.length < this.wanted.names.size) return;
    const allowed = `states (${selectableStates.join(', ')}), and descriptions and URLs of its logs`;
    throw new SettingsError([{ name: 'LOGS', fault: `selects no log of LOG_LIST: allowed are ${allowed}` }]);
  }

  async run(): Promise<void> {
    const list = await this.fetch();
    const rows = await this.logs.all();
    const begun = new Set(
      rows.filter(({ position }) => position !== '0').map(({ logId }) => logId.toString('hex')),
    );
    const logs = followedLogs(list, this.wanted, begun, this.now());
    await this.logs.keep(logs);
    const followed = logs.filter(({ enabled }) => enabled).length;
    this.report(list, followed, this.wanted.unknownNames(list, rows));
  }

  /** Once per change. */
  private report({ logs, faults }: LogList, followed: number, unknown: readonly string[]): void {
    const said = JSON.stringify([logs.length, followed, faults, unknown]);
    if (said === this.last) return;
    this.last = said;
    this.events.kept(followed, logs.length);
    for (const { log, fault } of faults) this.events.faulty(log, fault);
    for (const name of unknown) this.events.unknown(name);
  }
}
