import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';

export interface ObservedRequest {
  readonly method: string;
  /** The route's pattern, `/orders/:name`; absent when no route matched. */
  readonly route: string | undefined;
  readonly status: number;
  readonly seconds: number;
}

/** From a cached read to a v2 long poll of at most 180 s. */
const durationBucketsS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 180];

/** Other methods share one label value, so that clients cannot create time series. */
const knownMethods: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
]);

/** The metrics of one process, in the Prometheus text format. Applications add their own to `registry`. */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests: Counter<'method' | 'route' | 'status'>;
  readonly #durations: Histogram<'method' | 'route' | 'status'>;

  /** @param name of the process, on every time series as `process` */
  constructor(name: string) {
    this.registry.setDefaultLabels({ process: name });
    collectDefaultMetrics({ register: this.registry });
    const labelNames = ['method', 'route', 'status'] as const;
    this.#requests = new Counter({
      name: 'http_requests_total',
      help: 'HTTP requests answered, by method, route pattern and status',
      labelNames,
      registers: [this.registry],
    });
    this.#durations = new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time from the end of the request header to the end of the response',
      labelNames,
      buckets: durationBucketsS,
      registers: [this.registry],
    });
  }

  observeRequest({ method, route, status, seconds }: ObservedRequest): void {
    const labels = {
      method: knownMethods.has(method) ? method : 'other',
      route: route ?? 'unmatched',
      status,
    };
    this.#requests.inc(labels);
    this.#durations.observe(labels, seconds);
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  render(): Promise<string> {
    return this.registry.metrics();
  }
}
