export {
  annotateSpan,
  beginSpan,
  bindSpan,
  currentTraceparent,
  inSpan,
  isTracing,
  openSpan,
  type OpenSpan,
  type SpanCause,
  type SpanOptions,
  spanOfLogLine,
  type SpanKind,
  startDatabaseWork,
  type StartSpan,
  useTracer,
  withoutSpan,
} from './spans';
export { readTraceparent, writeTraceparent } from './traceparent';
