/** What a span is known by in another process. */
export interface SpanReference {
  /** 32 lower-case hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** 16 lower-case hexadecimal digits, not all zero. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** W3C Trace Context, section 3.2.2. Versions above 00 may have more members; ff is invalid. */
const format = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const maxLength = 128;

/** @returns null for a value that is not a traceparent */
export function readTraceparent(text: string): SpanReference | null {
  const match = text.length > maxLength ? null : format.exec(text);
  const [, traceId, spanId, flags, more] = match ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (text.startsWith('00') && more !== undefined) return null;
  return { traceId, spanId, isSampled: (parseInt(flags, 16) & 1) === 1 };
}

export function writeTraceparent({ traceId, spanId, isSampled }: SpanReference): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
