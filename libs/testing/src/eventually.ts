import { setTimeout as pause } from 'node:timers/promises';

export interface Patience {
  /** Milliseconds after which the last failure counts; default 20,000. */
  readonly withinMs?: number;
  /** Milliseconds between two attempts; default 25. */
  readonly everyMs?: number;
  /** True when waiting longer is useless, for instance since the process has ended; the attempt after that is the last. */
  readonly isHopeless?: () => boolean;
}

/**
 * Repeats an assertion until it holds, and answers its value. For what another process does in its own time; the bound is
 * for the worst day of a loaded machine, not for the usual case.
 *
 * @throws the assertion's last error, with the time waited in front of its message
 */
export async function eventually<T>(
  assertion: () => T | Promise<T>,
  { withinMs = 20_000, everyMs = 25, isHopeless = () => false }: Patience = {},
): Promise<T> {
  const start = Date.now();
  for (;;) {
    // Asked first: what happened before the end is seen by the attempt that follows.
    const isLast = isHopeless() || Date.now() - start >= withinMs;
    try {
      return await assertion();
    } catch (error) {
      if (isLast) throw late(error, Date.now() - start);
    }
    await pause(everyMs);
  }
}

/** Jest shows a matcher's own error best, so it is the same one with a longer message. */
function late(error: unknown, waitedMs: number): unknown {
  if (!(error instanceof Error)) return new Error(`still so after ${waitedMs} ms`, { cause: error });
  error.message = `still so after ${waitedMs} ms: ${error.message}`;
  return error;
}
