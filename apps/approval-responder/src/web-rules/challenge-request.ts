/** A request below `/<secret>/.well-known/`, as it came in. */
export interface ChallengeRequest {
  /** The part of the path that the rule of one account puts there. */
  readonly secret: string;
  readonly token: string;
  /** `X-Forwarded-Host`: the name that the proxying web server was asked for; absent after a redirect. */
  readonly forwardedHost: string | undefined;
}

/** 160 bits in base32, lower case. What looks otherwise was never given out, and needs no look into the database. */
const secretShape = /^[a-z2-7]{26,64}$/;

/** base64url, at least 128 bits (RFC 8555, section 8.1). */
const tokenShape = /^[A-Za-z0-9_-]{22,128}$/;

export function isWellFormed({ secret, token }: ChallengeRequest): boolean {
  return secretShape.test(secret) && tokenShape.test(token);
}

/**
 * Whether the proxying web server speaks for this name. A rule often stands on a server of many names; when it tells
 * which of them was asked for, no other one is answered for. Only asked once secret and token are known to belong
 * together: whoever lacks the secret gains nothing by the header, and whoever has it can only narrow what is answered.
 *
 * @param ownHost our own: a proxy in front of this process that puts it there tells nothing of the customer's server
 */
export function speaksFor(dnsName: string, forwardedHost: string | undefined, ownHost: string): boolean {
  if (forwardedHost === undefined) return true;
  // The first of several is what the client asked for; those after it were added by further proxies.
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
