import type { LogApi } from '../log-api/log-api';

/** Detects a slow log: requests are pending, and none has ended for some time. */
export class Waits {
  private underWay = 0;
  private sinceMs = performance.now();
  private readonly timer: NodeJS.Timeout;

  /** @param onSlow called once */
  constructor(patienceMs: number, onSlow: () => void) {
    this.timer = setInterval(() => {
      if (this.underWay === 0 || performance.now() - this.sinceMs < patienceMs) return;
      this.end();
      onSlow();
    }, patienceMs / 2);
  }

  /** The same API, with its requests monitored. */
  of(api: LogApi): LogApi {
    const watch = async <T>(request: Promise<T>): Promise<T> => await this.watch(request);
    return {
      head: (signal) => watch(api.head(signal)),
      consistencyProof: (from, head, signal) => watch(api.consistencyProof(from, head, signal)),
      treeOf: (size, head, signal) => watch(api.treeOf(size, head, signal)),
      timestampAt: (index, head, signal) => watch(api.timestampAt(index, head, signal)),
      issuer: (fingerprint, signal) => watch(api.issuer(fingerprint, signal)),
      rangeEnd: (from, to) => api.rangeEnd(from, to),
      fetch: (range, treeSize, signal) => watch(api.fetch(range, treeSize, signal)),
      fetchLong: (range, treeSize, signal) => watch(api.fetchLong(range, treeSize, signal)),
    };
  }

  /** Must be called to stop the timer. */
  end(): void {
    clearInterval(this.timer);
  }

  private async watch<T>(request: Promise<T>): Promise<T> {
    if (this.underWay === 0) this.sinceMs = performance.now();
    this.underWay += 1;
    try {
      return await request;
    } finally {
      this.underWay -= 1;
      this.sinceMs = performance.now();
    }
  }
}
