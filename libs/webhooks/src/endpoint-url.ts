/** Longest URL, in characters. */
const maxUrlLength = 2_048;

/** Where deliveries go, and with what. */
export interface EndpointUrl {
  /** Normal form, without user and password. */
  readonly url: string;
  /** As a URL writes it: an IPv6 address in brackets. */
  readonly hostname: string;
  /** `user:password` for Basic authentication (RFC 7617); null without. */
  readonly credentials: string | null;
}

export type EndpointUrlReading = { readonly value: EndpointUrl } | { readonly fault: string };

/** @returns what is wrong with it in words that follow "it", when it is no address that can be delivered to */
export function readEndpointUrl(text: string): EndpointUrlReading {
  if (text.length > maxUrlLength) return { fault: `is longer than ${maxUrlLength} characters` };
  // The parser would silently drop or turn them, and so read another address than a person does.
  if (/[\p{Cc}\s\\]/u.test(text)) return { fault: 'has white space, control characters or backslashes' };
  if (!/^https?:\/\//i.test(text)) return { fault: 'does not begin with http:// or https://' };
  if (text.includes('#')) return { fault: 'has a fragment, which is never sent' };
  if (!URL.canParse(text)) return { fault: 'is not a URL' };
  const parsed = new URL(text);
  const credentials = credentialsOf(parsed);
  if (credentials === undefined)
    return { fault: 'has a user name with a colon, or one that is not well-formed' };
  parsed.username = '';
  parsed.password = '';
  if (parsed.href.length > maxUrlLength)
    return { fault: `is longer than ${maxUrlLength} characters when encoded` };
  return { value: { url: parsed.href, hostname: parsed.hostname, credentials } };
}

/** @returns undefined when Basic authentication cannot carry them (RFC 7617, section 2) */
function credentialsOf({ username, password }: URL): string | null | undefined {
  if (username === '' && password === '') return null;
  const user = percentDecoded(username);
  const secret = percentDecoded(password);
  if (user === undefined || secret === undefined || user.includes(':')) return undefined;
  return /\p{Cc}/u.test(user + secret) ? undefined : `${user}:${secret}`;
}

function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
