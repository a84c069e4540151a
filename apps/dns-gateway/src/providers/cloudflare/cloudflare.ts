import type { DnsProvider } from '../dns-provider';
import type { OauthClientSettings } from '../operator';
import { recordChanges } from '../records/record-changes';
import { tokenProvider } from '../token-provider';
import { CloudflareClient, reading } from './cloudflare-client';

export interface CloudflareOptions {
  /** Default: https://api.cloudflare.com/client/v4 */
  readonly baseUrl?: string;
  /** Default: https://dash.cloudflare.com/oauth2 */
  readonly oauthUrl?: string;
  /** Null: customers use API tokens only. */
  readonly oauth: OauthClientSettings | null;
}

const advice =
  'Create an API token (not the Global API Key) with the permissions Zone / Zone / Read and Zone / DNS / Edit, ' +
  'and under Zone Resources name only the zones that certificates are for. Nothing else is needed. ' +
  'A client IP address filter on the addresses of this service makes a stolen token useless elsewhere.';

/** https://developers.cloudflare.com/api/ (v4), https://developers.cloudflare.com/fundamentals/oauth/ */
export function cloudflareProvider(options: CloudflareOptions): DnsProvider {
  const { oauthUrl = 'https://dash.cloudflare.com/oauth2', oauth: client } = options;
  return tokenProvider({
    name: 'cloudflare',
    title: 'Cloudflare',
    advice,
    baseUrl: options.baseUrl ?? 'https://api.cloudflare.com/client/v4',
    token: 'an API token',
    oauth: {
      client,
      tokenUrl: `${oauthUrl}/token`,
      clientAuthentication: 'basic',
      authorizeUrl: `${oauthUrl}/auth`,
      // The permissions "Zone Read" and "DNS Write"; `offline_access` is required for a refresh token.
      scope: 'zone.read dns.write offline_access',
    },
    reading,
    open(api, _ports, signal) {
      const records = new CloudflareClient(api);
      return { zones: () => records.zones(), ...recordChanges(records, signal) };
    },
  });
}
