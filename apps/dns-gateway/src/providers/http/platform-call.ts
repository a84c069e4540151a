import { ProviderFault } from '../provider-fault';
import type { ApiResponse, ApiRequest, CallApi } from './call-api';

export interface CallBounds {
  /** From the first byte sent to the last one read, milliseconds. */
  readonly timeoutMs: number;
  /** Max size of the body after decompression, bytes. */
  readonly maxBytes: number;
}

/** The longest documented page has 500 records; ten seconds is the limit for one step of a request. */
export const usualBounds: CallBounds = { timeoutMs: 10_000, maxBytes: 4 * 1024 * 1024 };

/**
 * Calls a provider's fixed host with the platform's fetch, whose pool keeps connections alive. A redirect is an
 * error: it would send credentials to another host.
 */
export function platformCall(bounds: CallBounds = usualBounds): CallApi {
  return async (request, signal) => {
    signal.throwIfAborted();
    const late = AbortSignal.timeout(bounds.timeoutMs);
    try {
      return await exchange(request, AbortSignal.any([signal, late]), bounds.maxBytes);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ProviderFault) throw error;
      throw late.aborted ? lateFault(request, bounds.timeoutMs) : noResponse(request, error);
    }
  };
}

async function exchange(
  { method, url, headers, body }: ApiRequest,
  signal: AbortSignal,
  maxBytes: number,
): Promise<ApiResponse> {
  const response = await fetch(url, { method, headers: { ...headers }, body, redirect: 'error', signal });
  const text = await textOf(response, maxBytes);
  return { status: response.status, headers: Object.fromEntries(response.headers), text };
}

async function textOf(response: Response, maxBytes: number): Promise<string> {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early cancels the stream and its connection.
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > maxBytes) {
      throw new ProviderFault(
        'unavailable',
        `The response of the DNS provider is longer than ${maxBytes} bytes.`,
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const lateFault = ({ url }: ApiRequest, ms: number): ProviderFault =>
  new ProviderFault('unavailable', `${hostOf(url)} did not respond within ${ms / 1000} s.`);

/** Without a cause: an error message of fetch may repeat a header that it could not send. */
function noResponse({ url }: ApiRequest, error: unknown): ProviderFault {
  const code = String((error as { cause?: { code?: unknown } } | null)?.cause?.code ?? '');
  const reason = /^[A-Z][A-Z0-9_]{1,40}$/.test(code) ? ` (${code})` : '';
  return new ProviderFault('unavailable', `There was no complete response from ${hostOf(url)}${reason}.`);
}

export const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : 'the DNS provider');
