import { AcmeFault } from '../acme-fault';
import { printable } from '../printable';

const maxUrlLength = 2_048;
const httpsPort = '443';

/**
 * Allowed URLs of an ACME server: https, with the host and port of its directory or of the operator's list. Every URL
 * in a directory, header or object is checked here before it is stored or requested.
 */
export class UrlPolicy {
  readonly directoryUrl: string;
  /** Host name without port or brackets, as connections use it. */
  readonly directoryHost: string;
  readonly #allowed: ReadonlySet<string>;

  /**
   * @param allowedHosts `host` or `host:port`; without a port, 443
   * @throws AcmeFault `refused_url` for a directory URL that is not https, or a list entry that is not a host
   */
  constructor(directoryUrl: string, allowedHosts: readonly string[]) {
    const directory = parsed(directoryUrl) ?? refuse('The directory', 'not an https URL that can be used');
    this.directoryUrl = directory.href;
    this.directoryHost = directory.hostname.replace(/^\[(.*)\]$/, '$1');
    this.#allowed = new Set([hostAndPort(directory), ...allowedHosts.map(allowedHost)]);
  }

  /**
   * @param what the source of the URL, as the start of a sentence: "The order's finalize URL"
   * @param base what a relative reference is resolved against; without one, references are refused
   * @returns the URL in normal form: as signed, stored and requested
   * @throws AcmeFault `refused_url`
   */
  pinned(what: string, url: string, base?: string): string {
    const target = parsed(url, base) ?? refuse(what, 'not an https URL that can be used');
    if (this.#allowed.has(hostAndPort(target))) return target.href;
    return refuse(
      what,
      `${printable(hostAndPort(target), 260)}, which is not the directory's host nor an allowed one`,
    );
  }

  /** For a URL that is ignored when the policy refuses it. */
  pinnedOrNull(url: string | undefined, base?: string): string | null {
    const target = url === undefined ? null : parsed(url, base);
    return target !== null && this.#allowed.has(hostAndPort(target)) ? target.href : null;
  }
}

function parsed(text: string, base?: string): URL | null {
  if (text.length > maxUrlLength || !URL.canParse(text, base)) return null;
  const url = new URL(text, base);
  const plain = url.protocol === 'https:' && url.username === '' && url.password === '' && url.hash === '';
  return plain && url.hostname !== '' ? url : null;
}

function hostAndPort(url: URL): string {
  return `${url.hostname}:${url.port === '' ? httpsPort : url.port}`;
}

function allowedHost(entry: string): string {
  const url = parsed(`https://${entry}`);
  if (url === null || url.pathname !== '/' || url.search !== '' || /[/?#\\]/.test(entry))
    return refuse('An entry of the allowed hosts', 'not a host name with or without a port');
  return hostAndPort(url);
}

function refuse(what: string, why: string): never {
  throw new AcmeFault('refused_url', `${what} leads to ${why}.`);
}
