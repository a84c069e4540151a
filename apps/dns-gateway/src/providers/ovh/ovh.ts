import { bearerKind, keptMember, type MemberRule, readMembers, visibleAscii } from '../credential-members';
import type { DnsProvider, ProviderSession } from '../dns-provider';
import { JsonApi } from '../http/json-api';
import { OvhClient, reading } from './ovh-client';
import { OvhAuthorizer } from './ovh-authorizer';
import { publishedChanges } from './published-changes';

export interface OvhOptions {
  /** Base URLs of all endpoints. Without a trailing slash. Default: the real ones. */
  readonly baseUrl?: string;
}

const title = 'OVHcloud';

const advice =
  'Make the three keys at https://eu.api.ovh.com/createToken/ (or ca.api.ovh.com, api.us.ovhcloud.com) with rights for ' +
  'the zones you want certificates for and no other: GET /domain/zone, and for each zone GET /domain/zone/ZONE/*, ' +
  'POST /domain/zone/ZONE/record, POST /domain/zone/ZONE/refresh and DELETE /domain/zone/ZONE/record/*. Rights for /* or ' +
  '/domain/* would reach your whole account. Restrict them to the addresses of this service where you know them, and ' +
  'choose their validity knowingly: when it ends, renewals stop. DynHost records are never touched.';

const key = { required: true, ...visibleAscii };
const members: readonly MemberRule[] = [
  { name: 'application_key', meaning: 'the application key', secret: false, ...key },
  { name: 'application_secret', meaning: 'the application secret', secret: true, ...key },
  { name: 'consumer_key', meaning: 'the consumer key', secret: true, ...key },
  {
    name: 'endpoint',
    meaning: 'where the account lives: eu (default), ca or us',
    secret: false,
    required: false,
    shape: /^(eu|ca|us)$/,
    shapeDescription: 'eu, ca or us',
  },
];

const endpoints: ReadonlyMap<string, string> = new Map([
  ['eu', 'https://eu.api.ovh.com/1.0'],
  ['ca', 'https://ca.api.ovh.com/1.0'],
  ['us', 'https://api.us.ovhcloud.com/1.0'],
]);

/** OVHcloud's API, version 1: one object per record, published by a zone refresh; no compare-and-swap. */
export function ovhProvider(options: OvhOptions = {}): DnsProvider {
  return {
    name: 'ovh',
    title,
    advice,
    credentialKinds: () => [bearerKind(members)],
    accept: async (credentials) => ({ endpoint: 'eu', ...readMembers(credentials, { bearer: members }) }),
    session(kept, _account, { callApi: call, now, rest }, signal): ProviderSession {
      const baseUrl =
        options.baseUrl ?? endpoints.get(keptMember(kept, 'endpoint')) ?? 'https://eu.api.ovh.com/1.0';
      const ports = { call, now, rest, signal };
      const keys = {
        applicationKey: keptMember(kept, 'application_key'),
        applicationSecret: keptMember(kept, 'application_secret'),
        consumerKey: keptMember(kept, 'consumer_key'),
      };
      const authorizer = new OvhAuthorizer(keys, { provider: title, baseUrl, ...ports });
      const api = new OvhClient(new JsonApi({ provider: title, baseUrl, authorizer, ...ports, ...reading }));
      return { zones: () => api.zones(), ...publishedChanges(api, signal), renewed: () => null };
    },
  };
}
