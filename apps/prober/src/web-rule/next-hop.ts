import type { ProbeHop } from '@certwright/jobs';

/** Response of one hop. */
export interface HopResponse {
  readonly status: number;
  /** Unchanged: bytes as Latin-1. */
  readonly location: string | undefined;
}

export type NextHop =
  | { readonly kind: 'arrived' }
  | { readonly kind: 'follow'; readonly url: string }
  | { readonly kind: 'problem'; readonly problem: string };

/** Same maximum as Let's Encrypt. */
export const maxRedirects = 10;

/** A longer address is of no use to a rule, and is not repeated in messages. */
const maxUrlLength = 2_048;

/** RFC 9110 §15.4; 300 and 304 lead nowhere by themselves. */
const redirects: readonly number[] = [301, 302, 303, 307, 308];

/**
 * Next URL to request. The address guard decides, hop by hop, whether the host may be connected to.
 *
 * @param hops completed so far, including the one that returned `answer`, in order
 */
export function nextHop(
  hops: readonly ProbeHop[],
  response: HopResponse,
  allowedPorts: readonly number[],
): NextHop {
  if (!redirects.includes(response.status)) return { kind: 'arrived' };
  const from = hops.at(-1)?.url ?? '';
  const problem = (text: string): NextHop => ({ kind: 'problem', problem: `${from} ${text}` });
  const url = redirectTarget(response.location ?? '', from);
  if (url === null) return problem(`responds with ${response.status} without a usable address to go on to.`);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return problem(`redirects to an address that is neither http nor https.`);
  }
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  if (!allowedPorts.includes(port)) {
    return problem(`redirects to port ${port}; only ${inWords(allowedPorts)} are looked at.`);
  }
  if (hops.some((hop) => hop.url === url.href)) return problem(`redirects in a circle, back to ${url.href}.`);
  if (hops.length > maxRedirects)
    return problem(`is the end of ${maxRedirects} redirects, and redirects again.`);
  return { kind: 'follow', url: url.href };
}

function redirectTarget(location: string, from: string): URL | null {
  const text = Buffer.from(location, 'latin1').toString('utf8');
  if (text === '' || text.length > maxUrlLength || !URL.canParse(text, from)) return null;
  const url = new URL(text, from);
  url.hash = '';
  // A redirect must not make us send credentials.
  url.username = '';
  url.password = '';
  return url.href.length > maxUrlLength ? null : url;
}

function inWords(ports: readonly number[]): string {
  const once = [...new Set(ports)];
  return [once.slice(0, -1).join(', '), once.at(-1)].filter((part) => part !== '').join(' and ');
}
