import { promises as dns } from 'node:dns';
import { isIP } from 'node:net';
import { OutboundFault } from '../outbound-fault';
import type { ResolverAddress } from './server-addresses';

/** First timeout of c-ares; it doubles for the second try, so six seconds in all, within the request's own timeout. */
const firstWaitMs = 2_000;
const tries = 2;

/** In the form that `setServers` expects. */
export function serverText({ host, port }: ResolverAddress): string {
  const family = isIP(host);
  if (family === 0) throw new TypeError(`The resolver ${host} is not an IP address.`);
  return family === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * Every A and AAAA record of a name, through c-ares. getaddrinfo has four threads for the whole process, reads
 * /etc/hosts and appends search domains, so that `redis` would resolve. Each lookup has its own channel, which can be
 * cancelled separately and shares no cache.
 *
 * @param servers empty: the system's
 * @throws OutboundFault `dns`; the signal's reason when it aborts
 */
export async function lookUpAddresses(
  name: string,
  servers: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  signal.throwIfAborted();
  const resolver = new dns.Resolver({ timeout: firstWaitMs, tries });
  if (servers.length > 0) resolver.setServers(servers);
  const cancel = (): void => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const families = await Promise.allSettled([resolver.resolve6(name), resolver.resolve4(name)]);
    signal.throwIfAborted();
    const addresses = families.flatMap((family) => (family.status === 'fulfilled' ? family.value : []));
    if (addresses.length > 0) return addresses;
    throw faultOf(
      name,
      families.map((family) => codeOf(family)),
    );
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

function codeOf(settled: PromiseSettledResult<unknown>): string {
  if (settled.status === 'fulfilled') return 'ENODATA';
  return String((settled.reason as NodeJS.ErrnoException | null)?.code);
}

function faultOf(name: string, codes: readonly string[]): OutboundFault {
  // Report the failure of one family before a negative answer for the other: it is what the customer can fix.
  const failed = codes.find((code) => code !== 'ENODATA' && code !== 'ENOTFOUND');
  if (failed === 'EBADNAME') return new OutboundFault('bad_url', 'The host is not a valid DNS name.');
  if (failed === 'ETIMEOUT')
    return new OutboundFault('dns', `The DNS servers for ${name} did not answer in time.`);
  if (failed !== undefined) {
    const response = responses[failed] ?? 'an unusable response';
    return new OutboundFault('dns', `Looking up ${name} failed: the DNS resolver returned ${response}.`);
  }
  return codes.includes('ENODATA')
    ? new OutboundFault('dns', `${name} has neither an A nor an AAAA record.`)
    : new OutboundFault('dns', `${name} does not exist in DNS.`);
}

const responses: Readonly<Record<string, string>> = {
  ESERVFAIL: 'SERVFAIL',
  EREFUSED: 'REFUSED',
  EFORMERR: 'FORMERR',
  ENOTIMP: 'NOTIMP',
  ECONNREFUSED: 'nothing, since it is unreachable',
};
