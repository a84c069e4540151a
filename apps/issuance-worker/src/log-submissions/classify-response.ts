import type { GuardedAnswer } from '@certwright/outbound';
import type { LogPromise } from './log-submissions';
import { printable } from '../acme/printable';
import { readRetryAfter } from '../acme/retry-after';
import { readSct } from './read-sct';

/** Result of one submission. */
export type Submitted =
  | { readonly kind: 'logged'; readonly promise: LogPromise }
  /** The log rejects this certificate, at least for now. */
  | { readonly kind: 'refused'; readonly problem: string }
  /** Ambiguous: caused by the certificate when the log serves others, else by the log. */
  | { readonly kind: 'failed'; readonly problem: string }
  /** The log is unavailable or limits requests: applies to every certificate. */
  | { readonly kind: 'unavailable'; readonly problem: string; readonly retryAfterMs: number | null };

/** Statuses of invalid requests (RFC 9110, section 15.5); the other 4xx concern the place or the time. */
const refusals: ReadonlySet<number> = new Set([400, 403, 409, 413, 422]);

/** Too many requests, and service unavailable. */
const pauses: ReadonlySet<number> = new Set([429, 503]);

/** Max characters of a log's own explanation that are kept. */
const maxReasonLength = 200;

type LogResponse = Pick<GuardedAnswer, 'status' | 'headers' | 'body' | 'truncated'>;

export function classifyResponse({ status, headers, body, truncated }: LogResponse, now: Date): Submitted {
  const promise = status === 200 && !truncated ? readSct(body) : null;
  if (promise !== null) return { kind: 'logged', promise };
  if (refusals.has(status))
    return { kind: 'refused', problem: `The log responded with ${status}${reasonIn(body)}.` };
  const retryAt = readRetryAfter(headers['retry-after'], now);
  const retryAfterMs = retryAt === null ? null : retryAt.getTime() - now.getTime();
  const problem =
    status === 200
      ? 'The log responded with something other than an SCT.'
      : `The log responded with ${status}.`;
  return retryAfterMs !== null || pauses.has(status)
    ? { kind: 'unavailable', problem, retryAfterMs }
    : { kind: 'failed', problem };
}

/** `error_message`, as logs send it, or the plain text of other servers. */
function reasonIn(body: Buffer): string {
  const text = body.toString('utf8');
  let reason = text;
  try {
    const { error_message: message } = JSON.parse(text) as Record<string, unknown>;
    if (typeof message === 'string') reason = message;
  } catch {
    // It is plain text.
  }
  const shown = printable(reason, maxReasonLength).replace(/\.$/, '');
  return shown === '' ? '' : `: ${shown}`;
}
