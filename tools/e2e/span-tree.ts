import type { CollectedSpan } from '@certwright/testing';

export function childrenOf(span: CollectedSpan, spans: readonly CollectedSpan[]): readonly CollectedSpan[] {
  return spans.filter(
    ({ traceId, parentSpanId }) => traceId === span.traceId && parentSpanId === span.spanId,
  );
}

/** In the order of the tree, without the span itself. */
export function descendantsOf(
  span: CollectedSpan,
  spans: readonly CollectedSpan[],
): readonly CollectedSpan[] {
  return childrenOf(span, spans).flatMap((child) => [child, ...descendantsOf(child, spans)]);
}

/** One line per span, indented below its parent. */
export function asWritten(
  span: CollectedSpan,
  spans: readonly CollectedSpan[],
  depth = 0,
): readonly string[] {
  const below = childrenOf(span, spans).flatMap((child) => asWritten(child, spans, depth + 1));
  return [`${'  '.repeat(depth)}${span.name}`, ...below];
}
