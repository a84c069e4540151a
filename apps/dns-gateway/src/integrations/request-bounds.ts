import { Problem } from '@certwright/errors';

/** Of a request. */
export interface RequestContext {
  readonly requestId: string;
  /** Identity of the client certificate. */
  readonly client: string;
  /** Aborts when the response is no longer of use. */
  readonly signal: AbortSignal;
}

export interface Bounds {
  /** Of one request, from its whole body to its answer, milliseconds. */
  readonly timeMs: number;
  /** Requests of all clients that are worked on at one time, those whose client has gone away included. */
  readonly mostAtOnce: number;
}

/** How long one request may take, and how many are worked on at one time. Of this process alone. */
export class RequestBounds {
  #underWay = 0;

  constructor(private readonly bounds: Bounds) {}

  /**
   * @param work ends soon after the signal
   * @throws Problem `service_outage` when there is no room; whatever the work throws
   */
  async run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { timeMs, mostAtOnce } = this.bounds;
    if (this.#underWay >= mostAtOnce) {
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
 * What is pending, or the signal's reason when that comes first. The work itself may go on: a provider that does not heed
 * the signal holds up no answer.
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
