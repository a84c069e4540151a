import { AcmeFault, notAcme } from '../acme-fault';
import { problemText, readProblem } from '../acme-problem';
import type { HttpsResponse } from '../connection/https-client';
import type { UrlPolicy } from '../connection/url-policy';
import { readRetryAfter } from '../retry-after';

const tooManyRequests = 429;
const serviceUnavailable = 503;

/** Parses the response as JSON. @throws AcmeFault `not_acme` for another content type or invalid JSON */
export function jsonOf(response: HttpsResponse): unknown {
  if (mediaType(response) !== 'application/json')
    throw notAcme('The ACME server responded with something other than JSON.');
  return parsed(response.body) ?? refuseJson();
}

export function mediaType(response: HttpsResponse): string {
  return (response.header('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/**
 * The error for an unsuccessful response: its problem document, or, without one, an error that depends on the status
 * alone.
 */
export function refusal(response: HttpsResponse, policy: UrlPolicy, now: Date): AcmeFault {
  const { status } = response;
  const retryAt = readRetryAfter(response.header('retry-after'), now);
  // Some servers send it as text: a refused nonce or a quota must be recognized.
  const problem = readProblem(parsed(response.body), status);
  // RFC 8555, section 6.6, and RFC 6585, section 4; an overloaded server sends 503 with Retry-After.
  const isLimit = status === tooManyRequests || (status === serviceUnavailable && retryAt !== null);
  if (isLimit || problem?.type === 'rateLimited') {
    const words = problem === null ? `status ${status}` : problemText(problem);
    return new AcmeFault('rate_limited', `The ACME server must not be queried now: ${words}`, {
      problem,
      status,
      retryAt,
    });
  }
  if (status >= 300 && status < 400)
    return new AcmeFault('refused_url', 'The ACME server redirects a request that may not be redirected.', {
      status,
    });
  if (problem === null)
    return notAcme(`The ACME server responded with status ${status} and without a problem document.`, {
      status,
      retryAt,
    });
  const location = policy.pinnedOrNull(response.header('location'));
  const message = `The ACME server refused (status ${status}): ${problemText(problem)}`;
  return new AcmeFault('problem', message, { problem, status, retryAt, location });
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

function refuseJson(): never {
  throw notAcme('The ACME server responded with JSON that cannot be read.');
}
