import { annotateSpan, inSpan } from '@certwright/tracing';
import type { ProviderPorts } from '../dns-provider';
import { afterAttempt, ProviderFault, type ProviderFaultKind } from '../provider-fault';
import type { ApiResponse, ApiRequest, CallApi } from './call-api';
import { safeMessage } from './safe-message';
import { waitS } from './retry-after';

/** How to interpret an API's responses. */
export interface ResponseReading {
  /** Name in messages. */
  readonly provider: string;
  /**
   * The error kind when the API is more specific than its status; null: by status alone. Called for every response,
   * 2xx too.
   */
  readonly kindOf?: (response: ApiResponse) => ProviderFaultKind | null;
  /** Responses besides 2xx that the caller reads itself, when the status alone is ambiguous. */
  readonly accepts?: (response: ApiResponse) => boolean;
  /**
   * The member documented as a sentence for people; nothing else of a refusal is repeated. None for a server chosen
   * by a customer: its responses could disclose content of any host that the gateway can reach.
   */
  readonly messageOf?: (response: ApiResponse) => string | null;
}

export interface CheckedRequest extends ApiRequest {
  /** Secrets that must not be shown: tokens, keys, codes. */
  readonly secrets: readonly string[];
  /** May be retried when the outcome is unknown. Default: GET only. */
  readonly repeatable?: boolean;
  /** Statuses besides 2xx that the caller reads itself (404, 412). */
  readonly accepted?: readonly number[];
}

export interface CheckedPorts extends Pick<ProviderPorts, 'now' | 'rest'> {
  readonly call: CallApi;
  readonly signal: AbortSignal;
}

/**
 * Delays between attempts, milliseconds, and thus the number of attempts; a longer Retry-After is left to the
 * caller.
 */
const restsMs = [250, 1_000] as const;
const maxRestMs = 2_000;

/**
 * One request and its checked response: returns 2xx and `accepted`, throws for others. Attempts repeatable requests
 * up to three times, and those with a short Retry-After too.
 *
 * @throws ProviderFault; the signal's reason
 */
export async function checkedCall(
  request: CheckedRequest,
  reading: ResponseReading,
  ports: CheckedPorts,
): Promise<ApiResponse> {
  const repeatable = request.repeatable ?? request.method === 'GET';
  let mayBeChanged = false;
  for (let at = 0; ; at += 1) {
    const { response, fault } = await tried(request, reading, ports);
    if (fault === null) return response;
    const restMs = repeatable || wasTooSoon(fault) ? restBefore(fault, at) : null;
    if (restMs === null) throw mayBeChanged ? afterAttempt(fault) : fault;
    mayBeChanged ||= request.method !== 'GET' && fault.kind === 'unavailable';
    await ports.rest(restMs, ports.signal);
  }
}

type Tried =
  | { readonly response: ApiResponse; readonly fault: null }
  | { readonly response: null; readonly fault: ProviderFault };

async function tried(request: CheckedRequest, reading: ResponseReading, ports: CheckedPorts): Promise<Tried> {
  try {
    const response = await callInSpan(request, reading, ports);
    const fault = faultOf(response, request, reading, ports.now());
    return fault === null ? { response, fault } : { response: null, fault };
  } catch (error) {
    ports.signal.throwIfAborted();
    if (error instanceof ProviderFault) return { response: null, fault: error };
    throw error;
  }
}

/** The span has no URL, which may contain a credential or a customer's host. Providers do not get the traceparent. */
async function callInSpan(
  request: CheckedRequest,
  { provider }: ResponseReading,
  { call, signal }: CheckedPorts,
): Promise<ApiResponse> {
  const attributes = { 'certwright.dns_provider': provider, 'http.request.method': request.method };
  return await inSpan('provider request', { kind: 'client', attributes }, async () => {
    const response = await call(request, signal);
    annotateSpan({ 'http.response.status_code': response.status });
    return response;
  });
}

/** A request refused with Retry-After has changed nothing, so any method may be sent again. */
const wasTooSoon = ({ kind, retryAfterS }: ProviderFault): boolean =>
  kind === 'rate_limited' && retryAfterS !== undefined;

function restBefore(fault: ProviderFault, at: number): number | null {
  const usualMs = restsMs[at];
  if (usualMs === undefined || (fault.kind !== 'unavailable' && fault.kind !== 'rate_limited')) return null;
  const wantedMs = (fault.retryAfterS ?? 0) * 1000;
  // Half of the delay is random, so that copies that failed together do not retry together.
  return wantedMs > maxRestMs ? null : Math.max(wantedMs, usualMs * (0.5 + Math.random() / 2));
}

function faultOf(
  response: ApiResponse,
  { accepted = [], secrets }: CheckedRequest,
  { provider, accepts, kindOf, messageOf }: ResponseReading,
  now: Date,
): ProviderFault | null {
  if (accepted.includes(response.status) || accepts?.(response) === true) return null;
  const kind = kindOf?.(response) ?? kindOfStatus(response.status);
  if (kind === null) return null;
  // A body with 5xx may come from any intermediary, so its text is not repeated.
  const message = kind === 'unavailable' ? null : safeMessage(messageOf?.(response) ?? null, secrets);
  const quoted = message === null ? '' : ` It says: ${message}`;
  return new ProviderFault(
    kind,
    `${sentence(provider, kind, response.status)}${quoted}`,
    waitS(kind, response.headers, now),
  );
}

function kindOfStatus(status: number): ProviderFaultKind | null {
  if (status >= 200 && status < 300) return null;
  if (status === 401 || status === 403) return 'auth_failed';
  if (status === 429) return 'rate_limited';
  // RFC 9110, section 15.5.9: the server stopped waiting; the request was not processed.
  return status >= 400 && status < 500 && status !== 408 ? 'rejected' : 'unavailable';
}

function sentence(provider: string, kind: ProviderFaultKind, status: number): string {
  const sentences: Record<ProviderFaultKind, string> = {
    auth_failed: `${provider} does not accept the credentials, or they lack a permission (HTTP ${status}).`,
    rejected: `${provider} refused the request (HTTP ${status}).`,
    rate_limited: `${provider} takes no more requests at the moment.`,
    unavailable: `${provider} did not respond as documented (HTTP ${status}).`,
    conflict: `${provider} has another record at this name that this one cannot coexist with (HTTP ${status}).`,
    zone_not_found: `${provider} has no such zone, or the credentials do not reach it (HTTP ${status}).`,
  };
  return sentences[kind];
}
