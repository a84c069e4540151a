/** A request below `/<secret>/.well-known/`, as received. */
export interface ChallengeRequest {
  /** Path segment set by the rule of one account. */
  readonly secret: string;
  readonly token: string;
  /** `X-Forwarded-Host`: the name requested from the proxying web server; absent after a redirect. */
  readonly forwardedHost: string | undefined;
}

/** 160 bits in base32, lower case. Any other form was never issued, and needs no database look-up. */
const secretShape = /^[a-z2-7]{26,64}$/;

/** base64url, at least 128 bits (RFC 8555, section 8.1). */
const tokenShape = /^[A-Za-z0-9_-]{22,128}$/;

export function isWellFormed({ secret, token }: Pick<ChallengeRequest, 'secret' | 'token'>): boolean {
  return secretShape.test(secret) && tokenShape.test(token);
}

/**
 * Whether the proxying web server serves this name. A rule often covers a server with many names; when the server
 * forwards the requested name, only that name is answered. Called only after secret and token are known to match:
 * without the secret the header gains nothing, and with the secret it can only narrow the response.
 *
 * @param ownHost our own: when a proxy in front of this process sets it, it does not identify the customer's server
 */
export function speaksFor(dnsName: string, forwardedHost: string | undefined, ownHost: string): boolean {
  if (forwardedHost === undefined) return true;
  // The first of several is the client's; further proxies appended the others.
  const [first = ''] = forwardedHost.split(',');
  const host = nameOf(first.trim());
  return host === dnsName || host === nameOf(ownHost);
}

/** A host as HTTP writes it, without its port. */
function nameOf(host: string): string {
  return host
    .toLowerCase()
    .replace(/:\d{1,5}$/, '')
    .replace(/\.$/, '');
}
