import { isIP } from 'node:net';
import { OutboundFault } from '../outbound-fault';
import { connectionOrder, shortest } from './connection-order';
import { isWithin, type Network, bytesOf, parseNetwork, unmapped } from './ip-address';
import { lookUpAddresses, serverText } from './name-lookup';
import { type ResolverAddress, ServerAddresses } from './server-addresses';
import { specialPurposeOf } from './special-purpose';

export interface AddressGuardOptions {
  /** Networks (`10.0.0.0/8`, `::1/128`) whose special-purpose addresses are allowed. */
  readonly allowedNetworks: readonly string[];
  /** Recursive resolvers, tried in order; absent or empty: the system's. */
  readonly resolvers?: readonly ResolverAddress[];
}

/** Maximum number of addresses to try; all are checked. */
const maxAddresses = 4;

/** Decides which addresses may be connected to. One guard serves the whole process. */
export class AddressGuard {
  readonly #allowed: readonly Network[];
  /** Null: the system's. */
  readonly #resolvers: ServerAddresses | null;

  /** @throws TypeError for an invalid network */
  constructor({ allowedNetworks, resolvers = [] }: AddressGuardOptions) {
    this.#allowed = allowedNetworks.map((text) => {
      const network = parseNetwork(text);
      if (network === null)
        throw new TypeError(
          `ALLOWED_NETWORKS: ${text} is not a network such as 10.0.0.0/8 or 2001:db8::/32; bits after the prefix are 0.`,
        );
      return network;
    });
    this.#resolvers = resolvers.length === 0 ? null : new ServerAddresses(resolvers);
  }

  /**
   * The addresses of a host to connect to: one to four, alternating between families, IPv6 first (RFC 8305 §4). They
   * are valid for one connection, made now.
   *
   * A name with any special-purpose address is refused: no public host needs such a record, and DNS rebinding uses
   * the mix to move a client to the internal address when the public one does not respond.
   *
   * @param host a name, or an IP address in any spelling that a URL may have
   * @throws OutboundFault `refused_address`, `dns`, `bad_url`; the signal's reason when it aborts
   */
  async addressesOf(host: string, signal: AbortSignal): Promise<readonly string[]> {
    const read = hostOf(host);
    if (read.kind === 'address') return [this.checkedAddress(read.address)];
    const { name } = read;
    if (isLocalhost(name)) return this.#loopbackOf(name);
    const addresses = await this.#lookUp(name, signal);
    const checked = addresses.map((address) => this.#checked(address, `${name} has an address that`));
    return connectionOrder(checked).slice(0, maxAddresses);
  }

  /**
   * Checks an address and returns it in its shortest form.
   *
   * @throws OutboundFault `refused_address`
   */
  checkedAddress(address: string): string {
    return this.#checked(address, 'The address');
  }

  async #lookUp(name: string, signal: AbortSignal): Promise<readonly string[]> {
    const servers =
      this.#resolvers === null ? [] : (await this.#resolvers.current()).addresses.map(serverText);
    // Without any, c-ares would use the system's.
    if (this.#resolvers !== null && servers.length === 0)
      throw new OutboundFault('dns', `Looking up ${name} failed: no DNS resolver is reachable.`);
    return await lookUpAddresses(name, servers, signal);
  }

  /** RFC 6761 §6.3: such names are this machine, regardless of DNS. */
  #loopbackOf(name: string): readonly string[] {
    const allowed = loopback.filter((address) => this.#refusalOf(address) === null);
    if (allowed.length > 0) return allowed;
    throw new OutboundFault(
      'refused_address',
      `${name} is the machine itself; connections to it are not allowed.`,
    );
  }

  #checked(address: string, subject: string): string {
    const refusal = this.#refusalOf(address);
    if (refusal === null) return shortest(address);
    throw new OutboundFault(
      'refused_address',
      `${subject} is not public (${refusal}); connections to such addresses are not allowed.`,
    );
  }

  #refusalOf(address: string): string | null {
    const special = specialPurposeOf(address);
    const bytes = bytesOf(address);
    if (special === null || bytes === null) return special;
    return this.#allowed.some((network) => isWithin(unmapped(bytes), network)) ? null : special;
  }
}

const loopback: readonly string[] = ['127.0.0.1', '::1'];

const isLocalhost = (name: string): boolean => name === 'localhost' || name.endsWith('.localhost');

/** A host as parsed by the URL Standard. */
export type Host =
  | { readonly kind: 'address'; readonly address: string }
  /** Lower-case A-labels, without the trailing dot. */
  | { readonly kind: 'name'; readonly name: string };

/** RFC 1035 §2.3.4: 255 bytes on the wire are 253 characters. */
const maxNameLength = 253;

/**
 * Parses a host in any spelling that a URL may have: `0x7f.1`, `2130706433` and `127.0.0.1.` are IP addresses.
 *
 * @param text the host alone, without port; an IPv6 address with brackets or without
 * @throws OutboundFault `bad_url`
 */
function hostOf(text: string): Host {
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
    name.length > maxNameLength ||
    name.split('.').some(({ length }) => length < 1 || length > 63)
  ) {
    throw new OutboundFault('bad_url', 'The host is not a valid DNS name.');
  }
  return { kind: 'name', name };
}
