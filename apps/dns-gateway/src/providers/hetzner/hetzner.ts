import type { DnsProvider } from '../dns-provider';
import { rrsetChanges } from '../records/rrset-changes';
import { tokenProvider } from '../token-provider';
import { HetznerClient, reading } from './hetzner-client';

export interface HetznerOptions {
  /** Without a trailing slash. Default: the real one. */
  readonly baseUrl?: string;
}

const advice =
  'Make an API token with "Read & Write" in the Hetzner Console (Security, "API tokens"). A token reaches everything in ' +
  'its project, servers too, so keep your DNS zones in a project of their own that holds nothing else. Tokens of the ' +
  'former DNS Console (dns.hetzner.com) do not work here: move the zones to the Console first.';

/** DNS in Hetzner's Cloud API, version 1: RRsets whose records are added and removed one by one. */
export const hetznerProvider = ({
  baseUrl = 'https://api.hetzner.cloud/v1',
}: HetznerOptions = {}): DnsProvider =>
  tokenProvider({
    name: 'hetzner',
    title: 'Hetzner',
    advice,
    baseUrl,
    token: 'an API token of the Hetzner Console',
    reading,
    open(api, ports, signal) {
      const client = new HetznerClient(api, (ms) => ports.rest(ms, signal));
      return { zones: () => client.zones(), ...rrsetChanges(client, ports, signal) };
    },
  });
