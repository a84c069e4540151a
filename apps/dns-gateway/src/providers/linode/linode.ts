import type { DnsProvider } from '../dns-provider';
import { recordChanges } from '../records/record-changes';
import { tokenProvider } from '../token-provider';
import { LinodeClient, reading } from './linode-client';

export interface LinodeOptions {
  /** Without a trailing slash. Default: the real one. */
  readonly baseUrl?: string;
}

const advice =
  'Make a personal access token with "Read/Write" for Domains (scope domains:read_write) and "No Access" for all else; ' +
  'better still, make it as a restricted user of your account who is granted nothing but the domains you want ' +
  'certificates for. Choose its expiry knowingly: when it ends, renewals stop. Linode publishes changes within a minute ' +
  'or two.';

/** Linode's API, version 4: an object for every record; no compare-and-swap. */
export const linodeProvider = ({ baseUrl = 'https://api.linode.com/v4' }: LinodeOptions = {}): DnsProvider =>
  tokenProvider({
    name: 'linode',
    title: 'Linode (Akamai)',
    advice,
    baseUrl,
    token: 'a personal access token',
    reading,
    open(api, _ports, signal) {
      const client = new LinodeClient(api);
      return { zones: () => client.zones(), ...recordChanges(client, signal) };
    },
  });
