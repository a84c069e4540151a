import { isIP } from 'node:net';
import { OutboundFault } from '../outbound-fault';

/** A host as the URL Standard reads it. */
export type Host =
  | { readonly kind: 'address'; readonly address: string }
  /** Lower-case A-labels, without the trailing dot. */
  | { readonly kind: 'name'; readonly name: string };

/** RFC 1035 §2.3.4: 255 octets on the wire are 253 characters of text. */
const longestName = 253;

/**
 * Reads a host in every spelling that a URL may have it in: `0x7f.1`, `2130706433` and `127.0.0.1.` are addresses to
 * everything that takes a URL, so they must be to us.
 *
 * @param text the host alone, without port; an IPv6 address with brackets or without
 * @throws OutboundFault `bad_url`
 */
export function hostOf(text: string): Host {
  const bracketed = isIP(text) === 6 ? `[${text}]` : text;
  const isHostAlone =
    !/[/?#@\\%\s]/.test(bracketed) && (bracketed.startsWith('[') || !bracketed.includes(':'));
  const url = `http://${bracketed}/`;
  if (!isHostAlone || !URL.canParse(url)) throw new OutboundFault('bad_url', 'The host is not valid.');
  const { hostname } = new URL(url);
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(bare) !== 0) return { kind: 'address', address: bare };
  const name = hostname.replace(/\.$/, '');
  if (
    name === '' ||
    name.length > longestName ||
    name.split('.').some(({ length }) => length < 1 || length > 63)
  ) {
    throw new OutboundFault('bad_url', 'The host is not a valid DNS name.');
  }
  return { kind: 'name', name };
}
