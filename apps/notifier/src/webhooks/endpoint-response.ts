import { STATUS_CODES } from 'node:http';
import { maxRetryAfterMs, type TryOutcome } from './next-try';

/** Response of an endpoint, without its body. */
export interface EndpointResponse {
  readonly status: number;
  readonly retryAfter: string | null;
}

/** Classification of a response, with our own error message. */
export interface ClassifiedResponse {
  readonly outcome: TryOutcome;
  /** Null for a success. */
  readonly problem: string | null;
}

export function classifyResponse({ status, retryAfter }: EndpointResponse, now: Date): ClassifiedResponse {
  if (status >= 200 && status < 300) return { outcome: { kind: 'delivered' }, problem: null };
  const received = `The endpoint responded with ${status}${phraseOf(status)}`;
  if (status === 410) return { outcome: { kind: 'gone' }, problem: `${received}: it is switched off.` };
  const outcome: TryOutcome = { kind: 'failed', retryAfterMs: retryAfterMs(retryAfter, now) };
  if (status >= 300 && status < 400) {
    return {
      outcome,
      problem: `${received}. Redirects are not followed: set the final address at the endpoint.`,
    };
  }
  return { outcome, problem: `${received}; a success is any status from 200 to 299.` };
}

const phraseOf = (status: number): string => {
  const phrase = STATUS_CODES[status];
  return phrase === undefined ? '' : ` ${phrase}`;
};

/** RFC 9110 §10.2.3: seconds, or a date. @returns ms, max a day; null when missing or malformed */
export function retryAfterMs(value: string | null, now: Date): number | null {
  const text = value?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, maxRetryAfterMs);
  // Only IMF-fixdate, which every sender must use today: Date.parse accepts many more formats.
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)) return null;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.min(Math.max(0, at - now.getTime()), maxRetryAfterMs);
}
