import type { CtLogs } from '@certwright/ct-persistence';
import { repeat } from '@certwright/service';
import type { FollowLog } from './follow-log';

/** When no log is due, we look again after this time, ms. */
const idleMs = 500;
const afterErrorMs = 1_000;

export interface Following {
  /** Gives all logs back. */
  stop(): Promise<void>;
}

/** Takes whichever log is due longest, again and again, as many at a time as `places` says. Any number of processes may. */
export function followLogs(
  logs: Pick<CtLogs, 'lease'>,
  follow: Pick<FollowLog, 'turn'>,
  { places, leaseMs, pollMs }: { readonly places: number; readonly leaseMs: number; readonly pollMs: number },
  onError: (error: unknown) => void,
): Following {
  const stopping = new AbortController();
  const round = async () => {
    const leased = await logs.lease(leaseMs);
    if (leased === null) return Math.min(idleMs, pollMs);
    await follow.turn(leased, stopping.signal);
    return 0;
  };
  const repeating = Array.from({ length: places }, () => repeat(round, { afterErrorMs, onError }));
  return {
    stop: async () => {
      stopping.abort(new Error('the process stops'));
      await Promise.all(repeating.map(async (each) => await each.stop()));
    },
  };
}
