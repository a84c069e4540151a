import type { DnsProvider } from '../dns-provider';
import { rrsetChanges } from '../records/rrset-changes';
import { tokenProvider } from '../token-provider';
import { DesecClient, reading } from './desec-client';

export interface DesecOptions {
  /** Without a trailing slash. Default: the real one. */
  readonly baseUrl?: string;
}

const advice =
  'Make a token of its own for this, without permission to create or delete domains or to manage tokens. Give it a token ' +
  'policy that denies everything by default, and one for each domain that allows writing TXT records at ' +
  '_acme-challenge names (subname "_acme-challenge", type "TXT"); restrict it to the addresses of this service where you ' +
  'know them. Records take effect at once, but the shortest TTL is the minimum_ttl of the domain, one hour unless ' +
  'deSEC agreed to less, and writing is limited to 15 changes a minute and 300 a day for each domain.';

/** deSEC's API, version 1: whole RRsets, several per request and atomic; no compare-and-swap. */
export const desecProvider = ({ baseUrl = 'https://desec.io/api/v1' }: DesecOptions = {}): DnsProvider =>
  tokenProvider({
    name: 'desec',
    title: 'deSEC',
    advice,
    baseUrl,
    token: 'the secret value of an API token',
    authorizationOf: (token) => ({ headers: { authorization: `Token ${token}` }, secrets: [token] }),
    reading,
    open(api, ports, signal) {
      const client = new DesecClient(api);
      return { zones: () => client.zones(), ...rrsetChanges(client, ports, signal) };
    },
  });
