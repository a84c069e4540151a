import { Round } from '@certwright/service';
import type { CtCrls, StaleCrl } from './store/ct-crls';
import type { CrlWatchEvents } from './crl-events';

const restMs = 60_000;

/** Monitors all lists, whichever process fetches them, and reports when one runs out or is fresh again. */
export class WatchCrls {
  private stale = new Map<number, StaleCrl>();

  constructor(
    private readonly crls: Pick<CtCrls, 'counts' | 'stale'>,
    private readonly events: CrlWatchEvents,
  ) {}

  @Round('watchCrls')
  async run(): Promise<number> {
    this.events.counted(await this.crls.counts());
    const now = new Map((await this.crls.stale()).map((crl) => [crl.id, crl]));
    for (const [id, crl] of now) if (!this.stale.has(id)) this.events.wentStale(crl);
    for (const [id, crl] of this.stale) if (!now.has(id)) this.events.freshAgain(crl);
    this.stale = now;
    return restMs;
  }
}
