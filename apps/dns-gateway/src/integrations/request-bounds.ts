import { Problem } from '@certwright/errors';

/** Context of a request. */
export interface RequestContext {
  readonly requestId: string;
  /** Identity of the client certificate. */
  readonly client: string;
  /** Aborts when the response is no longer of use. */
  readonly signal: AbortSignal;
}

export interface Bounds {
  /** Time limit of one request, from its whole body to its response, milliseconds. */
  readonly timeMs: number;
  /** Max concurrent requests of all clients, including those whose client has disconnected. */
  readonly maxConcurrent: number;
}

/** Limits the time per request and the number of concurrent requests, for this process alone. */
export class RequestBounds {
  #underWay = 0;

  constructor(private readonly bounds: Bounds) {}

  /**
   * @param work ends soon after the signal
   * @throws Problem `service_outage` when the limit is reached; errors of the work
   */
  async run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { timeMs, maxConcurrent } = this.bounds;
    if (this.#underWay >= maxConcurrent) {
      throw new Problem('service_outage', 'Too many requests are under way here: ask again.', {
        retryAfterS: 1,
      });
    }
    this.#underWay += 1;
    try {
      return await work(AbortSignal.timeout(timeMs));
    } finally {
      this.#underWay -= 1;
    }
  }
}

/**
 * The pending result, or the signal's reason when that comes first. The work may continue: a provider that ignores
 * the signal delays no response.
 */
export async function within<T>(signal: AbortSignal, pending: Promise<T>): Promise<T> {
  let stop: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([pending, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
