import { setTimeout as delay } from 'node:timers/promises';

export interface Repeating {
  /** Waits for the round that runs. */
  stop(): Promise<void>;
}

/**
 * Runs `round` again and again until stopped. A round that throws is reported and does not end the repetition.
 *
 * @param round returns how long to wait before the next one, ms
 */
export function repeat(
  round: () => Promise<number>,
  { afterErrorMs, onError }: { afterErrorMs: number; onError: (error: unknown) => void },
): Repeating {
  const stopping = new AbortController();
  const run = async () => {
    while (!stopping.signal.aborted) {
      const waitMs = await round().catch((error: unknown) => {
        onError(error);
        return afterErrorMs;
      });
      if (waitMs > 0) await delay(waitMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const running = run();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
