import {
  type OpenSpan,
  type SpanOptions,
  type StartSpan,
  useTracer,
  writeTraceparent,
} from '@certwright/tracing';

export interface RecordedSpan extends SpanOptions {
  readonly name: string;
  readonly traceparent: string;
  readonly parent: string | null;
  hasEnded: boolean;
}

/**
 * Records the spans of this process from now on, without a collector.
 *
 * @returns the spans in the order of their start, and a function that stops the recording
 */
export function recordSpans(): { readonly spans: readonly RecordedSpan[]; readonly stop: () => void } {
  const spans: RecordedSpan[] = [];
  const start: StartSpan = (name, options, parent) => {
    const digits = (spans.length + 1).toString(16);
    const reference = {
      traceId: digits.padStart(32, '0'),
      spanId: digits.padStart(16, '0'),
      isSampled: true,
    };
    const traceparent = writeTraceparent(reference);
    const recorded = { name, ...options, traceparent, parent: parent?.traceparent ?? null, hasEnded: false };
    spans.push(recorded);
    const span: OpenSpan = {
      reference,
      traceparent,
      set: () => undefined,
      add: () => undefined,
      end: () => void (recorded.hasEnded = true),
    };
    return span;
  };
  useTracer(start);
  return { spans, stop: () => useTracer(null) };
}
