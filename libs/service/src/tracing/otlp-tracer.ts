import { hostname } from 'node:os';
import {
  type OpenSpan,
  readTraceparent,
  type SpanKind,
  type StartSpan,
  useTracer,
  writeTraceparent,
} from '@certwright/tracing';
// Types only: the packages are loaded when an endpoint is set.
import type * as api from '@opentelemetry/api';
import type {
  ReadableSpan,
  Sampler,
  SpanExporter,
  SpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { Counter } from 'prom-client';
import { type Logger, maskSecrets } from '../logging/logger';
import type { Metrics } from '../operations/metrics';
import { type SamplerName, type TraceConfig, tracesUrl } from './trace-settings';

/** Ended spans that wait for the collector; more are dropped. About 2 kB each. */
const maxWaiting = 2_048;
/** Spans of one request to the collector. */
const maxBatch = 512;
const everyMs = 2_000;
/** One request to the collector, with its repetitions. */
const exportMs = 10_000;
/** Spans that a process sends when it stops: within this time, or not at all. */
const flushMs = 2_000;
const maxValueLength = 256;

/** Sends the spans of this process to a collector. */
export interface Traces {
  /** Counts spans, and logs when the collector fails and when it recovers. */
  observe(running: { readonly log: Logger; readonly metrics: Pick<Metrics, 'registry'> }): void;
  /** Sends what waits, for at most two seconds. */
  close(): Promise<void>;
}

/**
 * From now on the process records spans. Loads the SDK, which takes time and memory.
 *
 * @returns null: no endpoint is set
 */
export async function startTraces(name: string, config: Partial<TraceConfig>): Promise<Traces | null> {
  const url = tracesUrl(config);
  if (url === null) return null;
  const [otel, sdk, resources, otlp] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ]);
  const exporter = new otlp.OTLPTraceExporter({
    url,
    headers: { ...config.OTEL_EXPORTER_OTLP_HEADERS },
    timeoutMillis: exportMs,
  });
  const spans = new BoundedSpans(exporter, (bounded) => {
    const limits = { maxQueueSize: maxWaiting, maxExportBatchSize: maxBatch, scheduledDelayMillis: everyMs };
    return new sdk.BatchSpanProcessor({ exporter: bounded, ...limits, exportTimeoutMillis: 2 * exportMs });
  });
  const provider = new sdk.TracerProvider({
    resource: resources.resourceFromAttributes({
      'process.pid': process.pid,
      'host.name': hostname(),
      ...config.OTEL_RESOURCE_ATTRIBUTES,
      'service.name': config.OTEL_SERVICE_NAME ?? name,
    }),
    sampler: samplerOf(sdk, config),
    spanLimits: { attributeValueLengthLimit: maxValueLength },
    spanProcessors: [spans],
  });
  useTracer(spanStarter(otel, provider));
  return {
    observe: ({ log, metrics }) => spans.observe(log, metrics),
    close: async () => await spans.close(provider),
  };
}

function samplerOf(sdk: typeof import('@opentelemetry/sdk-trace'), config: Partial<TraceConfig>): Sampler {
  const name = config.OTEL_TRACES_SAMPLER ?? 'parentbased_always_on';
  const [, based = '', root] = /^(parentbased_)?(.*)$/.exec(name) ?? [];
  const roots = {
    always_on: () => new sdk.AlwaysOnSampler(),
    always_off: () => new sdk.AlwaysOffSampler(),
    traceidratio: () => new sdk.TraceIdRatioBasedSampler(config.OTEL_TRACES_SAMPLER_ARG ?? 1),
  } satisfies Partial<Record<SamplerName, () => Sampler>>;
  const sampler = roots[root as keyof typeof roots]();
  return based === '' ? sampler : new sdk.ParentBasedSampler({ root: sampler });
}

/** Span of the SDK behind our own interface; the current span is kept by `@certwright/tracing`. */
function spanStarter(otel: typeof api, provider: TracerProvider): StartSpan {
  const tracer = provider.getTracer('certwright');
  const kinds: Record<SpanKind, api.SpanKind> = {
    internal: otel.SpanKind.INTERNAL,
    server: otel.SpanKind.SERVER,
    client: otel.SpanKind.CLIENT,
    producer: otel.SpanKind.PRODUCER,
    consumer: otel.SpanKind.CONSUMER,
  };
  const remote = (traceparent: string): api.SpanContext | null => {
    const reference = readTraceparent(traceparent);
    if (reference === null) return null;
    const { traceId, spanId, isSampled } = reference;
    return { traceId, spanId, traceFlags: isSampled ? 1 : 0, isRemote: true };
  };
  return (name, { kind = 'internal', attributes = {}, cause, startedAt }, current) => {
    const other = cause ? remote(cause.traceparent) : null;
    const parent = cause === undefined ? contextOf(current) : cause?.as === 'parent' ? other : null;
    const links = other !== null && cause?.as === 'link' ? [{ context: other }] : [];
    const options = {
      kind: kinds[kind],
      links,
      ...(startedAt === undefined ? {} : { startTime: startedAt }),
    };
    const context =
      parent === null ? otel.ROOT_CONTEXT : otel.trace.setSpanContext(otel.ROOT_CONTEXT, parent);
    const span = new RecordedSpan(tracer.startSpan(name, options, context), otel.SpanStatusCode.ERROR);
    span.set(attributes);
    return span;
  };
}

const contextOf = (span: OpenSpan | null): api.SpanContext | null =>
  span instanceof RecordedSpan ? span.context : null;

class RecordedSpan implements OpenSpan {
  readonly context: api.SpanContext;
  readonly reference: OpenSpan['reference'];
  readonly traceparent: string;
  readonly #sums = new Map<string, number>();

  constructor(
    private readonly span: api.Span,
    private readonly failed: api.SpanStatusCode.ERROR,
  ) {
    this.context = span.spanContext();
    const { traceId, spanId, traceFlags } = this.context;
    this.reference = { traceId, spanId, isSampled: (traceFlags & 1) === 1 };
    this.traceparent = writeTraceparent(this.reference);
  }

  set(attributes: Parameters<OpenSpan['set']>[0]): void {
    if (!this.span.isRecording()) return;
    for (const [name, value] of Object.entries(attributes)) {
      if (value === undefined || value === null) continue;
      this.span.setAttribute(name, typeof value === 'string' ? maskSecrets(value) : value);
    }
  }

  add(attributes: Readonly<Record<string, number>>): void {
    for (const [name, value] of Object.entries(attributes))
      this.#sums.set(name, (this.#sums.get(name) ?? 0) + value);
  }

  end(outcome: Parameters<OpenSpan['end']>[0] = 'ok'): void {
    for (const [name, value] of this.#sums) this.span.setAttribute(name, Math.round(value * 1_000) / 1_000);
    if (outcome === 'failed') this.span.setStatus({ code: this.failed });
    this.span.end();
  }
}

/** Between the SDK's batches and its exporter: drops and counts what a slow or unreachable collector does not take. */
class BoundedSpans implements SpanProcessor {
  readonly #batches: SpanProcessor;
  /** Ended, and not yet handed to the exporter. */
  #waiting = 0;
  #unsent = 0;
  #isFailing = false;
  #log: Logger | null = null;
  #dropped: Counter<'reason'> | null = null;
  #exported: Counter | null = null;

  constructor(exporter: SpanExporter, batchesTo: (exporter: SpanExporter) => SpanProcessor) {
    this.#batches = batchesTo({
      export: (spans, done) => {
        this.#waiting -= spans.length;
        this.#unsent += spans.length;
        exporter.export(spans, (result) => {
          this.#unsent -= spans.length;
          this.#sent(spans.length, result.error);
          done(result);
        });
      },
      shutdown: async () => await exporter.shutdown(),
    });
  }

  observe(log: Logger, metrics: Pick<Metrics, 'registry'>): void {
    this.#log = log;
    const registers = [metrics.registry];
    this.#exported = new Counter({
      name: 'certwright_trace_spans_exported_total',
      help: 'Spans that the collector accepted',
      registers,
    });
    this.#dropped = new Counter({
      name: 'certwright_trace_spans_dropped_total',
      help: 'Spans that the collector did not get, by reason',
      labelNames: ['reason'],
      registers,
    });
    for (const reason of ['queue_full', 'export_failed']) this.#dropped.inc({ reason }, 0);
  }

  onStart(): void {
    // Nothing to do.
  }

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & 1) === 0) return;
    if (this.#waiting >= maxWaiting) return this.#dropped?.inc({ reason: 'queue_full' });
    this.#waiting += 1;
    this.#batches.onEnd(span);
  }

  async forceFlush(): Promise<void> {
    await this.#batches.forceFlush();
  }

  async shutdown(): Promise<void> {
    await this.#batches.shutdown();
  }

  async close(provider: TracerProvider): Promise<void> {
    useTracer(null);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, flushMs);
    });
    await Promise.race([provider.shutdown().catch(() => undefined), late]);
    clearTimeout(timer);
    const spans = this.#waiting + this.#unsent;
    if (spans > 0) this.#log?.warn({ spans }, 'spans not sent before the process stopped');
  }

  #sent(spans: number, error: Error | undefined): void {
    if (error === undefined) this.#exported?.inc(spans);
    else this.#dropped?.inc({ reason: 'export_failed' }, spans);
    const isFailing = error !== undefined;
    if (isFailing === this.#isFailing) return;
    this.#isFailing = isFailing;
    if (isFailing) this.#log?.warn({ error: briefly(error) }, 'spans not accepted by the collector; dropped');
    else this.#log?.info('spans accepted by the collector again');
  }
}

/** A response of the collector is not repeated in the log. */
function briefly(error: Error): string {
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
  const of = (each: unknown): string | null => {
    const { code: own } = (each ?? {}) as { readonly code?: unknown };
    return typeof own === 'string' || typeof own === 'number' ? String(own) : null;
  };
  return of({ code }) ?? of(cause) ?? error.message;
}
