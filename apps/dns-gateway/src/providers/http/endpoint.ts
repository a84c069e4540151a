import { isIP } from 'node:net';
import { Problem } from '@certwright/errors';
import { portRefusal, specialPurposeOf } from '@certwright/outbound';
import type { MemberRule } from '../credential-members';
import { checkCustomerHost } from '../customer-host';
import type { ProviderPorts } from '../dns-provider';

/** The API's URL at a customer's own server. */
export const endpointMember: MemberRule = {
  name: 'endpoint',
  meaning: 'URL of the API, with https:// unless its host is a private IP address',
  secret: false,
  required: true,
  shape: /^https?:\/\/[\x21-\x7e]{1,1000}$/i,
  shapeDescription: 'a URL that begins with https://',
};

/**
 * The endpoint in normal form, without a trailing slash. Every request contains the key, so http:// is allowed only
 * for addresses that are not reached through foreign networks.
 *
 * @throws Problem `bad_request` naming the member
 */
export function readEndpoint(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) throw wrong('must be a URL');
  if (url.username !== '' || url.password !== '') throw wrong('must not hold a user or a password');
  if (url.search !== '' || url.hash !== '') throw wrong('must end with its path');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const isPrivate = isIP(host) !== 0 && specialPurposeOf(host) !== null;
  if (url.protocol !== 'https:' && !isPrivate) {
    throw wrong('must begin with https://: the credentials would go over the Internet in the clear');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/**
 * The endpoint of new credentials as returned by `readEndpoint`, after checking that its host may be connected to.
 *
 * @throws Problem `bad_request` naming the member
 */
export async function acceptEndpoint(
  text: string,
  ports: Pick<ProviderPorts, 'guard'>,
  signal: AbortSignal,
): Promise<string> {
  const endpoint = readEndpoint(text);
  const { hostname, port } = new URL(endpoint);
  if (port !== '' && portRefusal(Number(port)) !== null) {
    throw wrong(`must not have the port ${port}, which is reserved for another protocol than HTTP`);
  }
  await checkCustomerHost('credentials.endpoint', hostname, ports, signal);
  return endpoint;
}

const wrong = (rule: string): Problem =>
  Problem.ofFields([
    {
      field: 'credentials.endpoint',
      code: 'invalid_value',
      message: `credentials.endpoint ${rule}.`,
    },
  ]);
