import type { CtLogs } from '../logs/ct-logs';
import { repeat } from '@certwright/service';
import type { FollowLog } from './follow-log';

/** Poll interval while no log is due, ms. */
const idleMs = 500;
const afterErrorMs = 1_000;

export interface Following {
  /** Releases all logs. */
  stop(): Promise<void>;
}

export interface Places {
  /** Max number of logs followed at the same time. */
  readonly places: number;
  /** Additional slow or failed logs: they take no place from other logs. */
  readonly placesAside: number;
  readonly leaseMs: number;
  readonly pollMs: number;
}

/** Repeatedly follows the log that is due longest, up to `places` at a time. Multiple processes may run this. */
export function followLogs(
  logs: Pick<CtLogs, 'lease'>,
  follow: Pick<FollowLog, 'turn'>,
  { places, placesAside, leaseMs, pollMs }: Places,
  onError: (error: unknown) => void,
): Following {
  const stopping = new AbortController();
  const aside = new Aside(placesAside);
  // While no log is due, one place looks for all.
  const restMs = Math.min(idleMs, pollMs);
  let restsUntilMs = -Infinity;
  let leasing: Promise<unknown> = Promise.resolve();
  const lease = async () => {
    if (performance.now() < restsUntilMs) return null;
    try {
      const leased = await logs.lease(leaseMs);
      if (leased === null) restsUntilMs = performance.now() + restMs;
      return leased;
    } catch (error) {
      restsUntilMs = performance.now() + afterErrorMs;
      throw error;
    }
  };
  const round = async () => {
    const next = leasing.then(lease, lease);
    leasing = next;
    const leased = await next;
    if (leased === null) return Math.max(0, restsUntilMs - performance.now());
    await aside.orEnded((onSlow) => follow.turn(leased, stopping.signal, onSlow));
    return 0;
  };
  const repeating = Array.from({ length: places }, () => repeat(round, { afterErrorMs, onError }));
  return {
    stop: async () => {
      stopping.abort(new Error('the process stops'));
      await Promise.all(repeating.map(async (each) => await each.stop()));
      await aside.ended();
    },
  };
}

/** Turns that continue without a place. */
class Aside {
  private readonly turns = new Set<Promise<void>>();

  constructor(private readonly max: number) {}

  /** Resolves when the turn has ended or, once its log is slow, when there is room for it here. */
  async orEnded(begin: (onSlow: () => void) => Promise<void>): Promise<void> {
    let isOver = false;
    let turn = Promise.resolve();
    const slow = new Promise<void>((resolve) => {
      turn = begin(resolve).finally(() => (isOver = true));
    });
    const setAside = async () => {
      await slow;
      while (!isOver && this.turns.size >= this.max) await Promise.race(this.turns);
      if (isOver) return;
      this.turns.add(turn);
      void turn.finally(() => this.turns.delete(turn));
    };
    await Promise.race([turn, setAside()]);
  }

  async ended(): Promise<void> {
    await Promise.all(this.turns);
  }
}
