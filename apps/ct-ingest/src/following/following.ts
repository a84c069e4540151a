import type { CtLogs } from '../logs/ct-logs';
import { repeat } from '@certwright/service';
import type { FollowLog } from './follow-log';

/** When no log is due, we look again after this time, ms. */
const idleMs = 500;
const afterErrorMs = 1_000;

export interface Following {
  /** Gives all logs back. */
  stop(): Promise<void>;
}

export interface Places {
  /** Logs that are followed at the same time. */
  readonly places: number;
  /** Logs that are followed besides, since they are slow or have failed: they take the place of no other log. */
  readonly placesAside: number;
  readonly leaseMs: number;
  readonly pollMs: number;
}

/** Takes whichever log is due longest, again and again, as many at a time as `places` says. Any number of processes may. */
export function followLogs(
  logs: Pick<CtLogs, 'lease'>,
  follow: Pick<FollowLog, 'turn'>,
  { places, placesAside, leaseMs, pollMs }: Places,
  onError: (error: unknown) => void,
): Following {
  const stopping = new AbortController();
  const aside = new Aside(placesAside);
  const round = async () => {
    const leased = await logs.lease(leaseMs);
    if (leased === null) return Math.min(idleMs, pollMs);
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

/** Turns that go on without a place. */
class Aside {
  private readonly turns = new Set<Promise<void>>();

  constructor(private readonly max: number) {}

  /** Resolves when the turn has ended, or, once its log is slow, when there is room for it here. */
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
