import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Readiness } from './readiness';

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
export const knownMethods: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
]);

const missingName = 'certwright_metrics_missing';

/** The metrics of one process, in the Prometheus text format. Applications add their own to `registry`. */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests: Counter<'method' | 'route' | 'status'>;
  readonly #durations: Histogram<'method' | 'route' | 'status'>;
  readonly #missing: Gauge;
  /** Time to read the values of one metric, ms: less than the 10 s in which Prometheus expects a response. */
  collectWithinMs = 3_000;

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
    this.#missing = new Gauge({
      name: missingName,
      help: 'Metrics that this response lacks, because their values could not be read',
      registers: [this.registry],
    });
  }

  /** One time series per check. The database that is down is not queried for each scrape: the report is reused. */
  observeDependencies(readiness: Pick<Readiness, 'report' | 'clockOffsetsMs'>): void {
    new Gauge({
      name: 'certwright_ready',
      help: '1: /readyz returns 200',
      registers: [this.registry],
      async collect() {
        const { ready } = await readiness.report();
        this.set(ready ? 1 : 0);
      },
    });
    new Gauge({
      name: 'certwright_dependency_up',
      help: '1: the check of /readyz with this name passes; 0: it fails or takes too long',
      labelNames: ['dependency'],
      registers: [this.registry],
      async collect() {
        const { checks } = await readiness.report();
        for (const [dependency, result] of Object.entries(checks))
          this.set({ dependency }, result === 'ok' ? 1 : 0);
      },
    });
    new Gauge({
      name: 'certwright_clock_offset_seconds',
      help: 'How far the clock of the server that the setting names is ahead of ours',
      labelNames: ['setting'],
      registers: [this.registry],
      async collect() {
        await readiness.report();
        for (const [setting, offsetMs] of readiness.clockOffsetsMs) this.set({ setting }, offsetMs / 1_000);
      },
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

  /** Metrics whose values cannot be read now, such as those of an unavailable database, are left out. */
  async render(): Promise<string> {
    const names = this.registry.getMetricsAsArray().map(({ name }) => name);
    const texts = await Promise.all(
      names.filter((name) => name !== missingName).map(async (name) => await this.#textOf(name)),
    );
    const known = texts.filter((text) => text !== null);
    this.#missing.set(texts.length - known.length);
    return `${[...known, await this.registry.getSingleMetricAsString(missingName)].join('\n\n')}\n`;
  }

  /** @returns null: it has no values now */
  async #textOf(name: string): Promise<string | null> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, this.collectWithinMs, null);
    });
    const text = this.registry.getSingleMetricAsString(name).catch(() => null);
    const first = await Promise.race([text, late]);
    clearTimeout(timer);
    return first;
  }
}
