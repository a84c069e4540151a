import type { DnsProvider } from '../dns-provider';
import { rrsetChanges } from '../records/rrset-changes';
import { tokenProvider } from '../token-provider';
import { GandiClient, reading } from './gandi-client';

export interface GandiOptions {
  /** Without a trailing slash. Default: the real one. */
  readonly baseUrl?: string;
}

const advice =
  'Make a personal access token (Organizations, then the tab "Sharing", "Personal Access Token (PAT)") that is limited to ' +
  'the domains you want certificates for, with the one permission "Manage domain name technical configurations" and what ' +
  'it brings along; no permission for renewals, purchases or owners. Choose its lifetime knowingly: when it ends, ' +
  'renewals stop. The former API keys reach everything of your account and are not taken. The shortest TTL is 300 s.';

/** Gandi's LiveDNS API, version 5: one whole RRset per request; no compare-and-swap. */
export const gandiProvider = ({
  baseUrl = 'https://api.gandi.net/v5/livedns',
}: GandiOptions = {}): DnsProvider =>
  tokenProvider({
    name: 'gandi',
    title: 'Gandi LiveDNS',
    advice,
    baseUrl,
    token: 'a personal access token',
    reading,
    open(api, ports, signal) {
      const client = new GandiClient(api);
      return { zones: () => client.zones(), ...rrsetChanges(client, ports, signal) };
    },
  });
