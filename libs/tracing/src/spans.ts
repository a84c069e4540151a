import { AsyncLocalStorage } from 'node:async_hooks';
import type { SpanReference } from './traceparent';

/**
 * Ids, states and counts. Never a secret, a CSR, a URL with a path or query, a value of a challenge, or a parameter of
 * a statement.
 */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer';

/** What a span follows from, other than the current span. */
export interface SpanCause {
  /** W3C traceparent; one that cannot be read counts as absent. */
  readonly traceparent: string;
  /** `parent`: the span belongs to that trace. `link`: it begins a trace of its own, which refers to that one. */
  readonly as: 'parent' | 'link';
}

export interface SpanOptions {
  /** Default: `internal`. */
  readonly kind?: SpanKind;
  readonly attributes?: SpanAttributes;
  /** Null: the span begins a trace. Absent: the current span is its parent. */
  readonly cause?: SpanCause | null;
  /** Default: now. */
  readonly startedAt?: Date;
}

export type Outcome = 'ok' | 'failed';

/** A span that has not ended. */
export interface OpenSpan {
  readonly reference: SpanReference;
  /** For other processes of the platform. */
  readonly traceparent: string;
  set(attributes: SpanAttributes): void;
  /** Adds to the values of attributes that are counts or durations. */
  add(attributes: Readonly<Record<string, number>>): void;
  end(outcome?: Outcome): void;
}

/** Implemented by the process, which sends ended spans to a collector. Must not throw. */
export type StartSpan = (name: string, options: SpanOptions, parent: OpenSpan | null) => OpenSpan;

let startSpan: StartSpan | null = null;
const current = new AsyncLocalStorage<OpenSpan | null>();

/** Called at the start of a process, before it opens anything. Null: no spans, the default. */
export function useTracer(tracer: StartSpan | null): void {
  startSpan = tracer;
}

/** Whether this process records spans. Constant once the process has started. */
export function isTracing(): boolean {
  return startSpan !== null;
}

/**
 * Runs `work` in a span, which is the parent of the spans that it starts. Without tracing it only runs `work`.
 *
 * @param name one of few: ids belong into attributes
 * @throws what `work` throws; the span then has `error.type`, but not the message, which may quote a customer's data
 */
export async function inSpan<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T> {
  if (startSpan === null) return await work();
  const span = startSpan(name, options, currentSpan());
  return await current.run(span, async () => {
    try {
      const result = await work();
      span.end();
      return result;
    } catch (error) {
      span.set({ 'error.type': typeOf(error) });
      span.end('failed');
      throw error;
    }
  });
}

/** A span that does not become the current one. @returns null without tracing */
export function openSpan(name: string, options: SpanOptions): OpenSpan | null {
  return startSpan === null ? null : startSpan(name, options, currentSpan());
}

/**
 * Like `inSpan`, for work that ends with an event.
 *
 * @param handle runs in the span, and gets it; null without tracing
 */
export function beginSpan(name: string, options: SpanOptions, handle: (span: OpenSpan | null) => void): void {
  if (startSpan === null) return handle(null);
  const span = startSpan(name, options, currentSpan());
  current.run(span, handle, span);
}

/** For work that a span starts on behalf of others, or that outlives it. */
export function withoutSpan<T>(work: () => T): T {
  return startSpan === null ? work() : current.run(null, work);
}

/** A listener that runs in the current span, whatever emits the event. */
export function bindSpan<A extends readonly unknown[]>(listener: (...args: A) => void): (...args: A) => void {
  const span = currentSpan();
  return span === null ? listener : (...args) => current.run(span, listener, ...args);
}

/** Adds attributes to the current span, if any. */
export function annotateSpan(attributes: SpanAttributes): void {
  currentSpan()?.set(attributes);
}

/** For other processes of the platform only: customers and CAs must not get it. Null without a current span. */
export function currentTraceparent(): string | null {
  const span = currentSpan();
  return span?.traceparent ?? null;
}

/** The members of a log line that is written in a span. */
export function spanOfLogLine(): object {
  const reference = currentSpan()?.reference;
  return reference === undefined ? {} : { trace_id: reference.traceId, span_id: reference.spanId };
}

const noWork = (): void => undefined;

/**
 * Time that the current span waits for the database: the sum over its statements, as `db.client.ms` and
 * `db.client.waits`. A span has no text and no parameter of a statement.
 *
 * @returns ends the wait
 */
export function startDatabaseWork(): () => void {
  const span = currentSpan();
  if (span === null) return noWork;
  const begunMs = performance.now();
  return () => span.add({ 'db.client.ms': performance.now() - begunMs, 'db.client.waits': 1 });
}

function currentSpan(): OpenSpan | null {
  return startSpan === null ? null : (current.getStore() ?? null);
}

/** The code of an error, or its class. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : error.name;
}
