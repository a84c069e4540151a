import type { DnsProvider } from '../dns-provider';
import type { OauthClientSettings } from '../operator';
import { recordChanges } from '../records/record-changes';
import { tokenProvider } from '../token-provider';
import { DigitalOceanClient, reading } from './digitalocean-client';

export interface DigitalOceanOptions {
  /** Default: https://api.digitalocean.com */
  readonly baseUrl?: string;
  /** Default: https://cloud.digitalocean.com/v1/oauth */
  readonly oauthUrl?: string;
  /** Null: customers use their own tokens only. */
  readonly oauth: OauthClientSettings | null;
}

const advice =
  'Create a personal access token with custom scopes: domain:read, domain:create, domain:update and domain:delete, and ' +
  'nothing else, with an end date. DigitalOcean cannot limit a token to some domains: where that matters, keep the ' +
  'domains in a team of their own, or delegate only the names of approval records to another provider.';

/** https://docs.digitalocean.com/reference/api/ (v2) and https://docs.digitalocean.com/reference/api/oauth/ */
export function digitalOceanProvider(options: DigitalOceanOptions): DnsProvider {
  const { oauthUrl = 'https://cloud.digitalocean.com/v1/oauth', oauth: client } = options;
  return tokenProvider({
    name: 'digitalocean',
    title: 'DigitalOcean',
    advice,
    baseUrl: options.baseUrl ?? 'https://api.digitalocean.com',
    token: 'a personal access token',
    oauth: {
      client,
      tokenUrl: `${oauthUrl}/token`,
      clientAuthentication: 'form',
      authorizeUrl: `${oauthUrl}/authorize`,
      scope: 'read write',
    },
    reading,
    open(api, _ports, signal) {
      const records = new DigitalOceanClient(api);
      return { zones: () => records.zones(), ...recordChanges(records, signal) };
    },
  });
}
