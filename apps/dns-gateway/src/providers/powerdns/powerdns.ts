import { bearerKind, keptMember, type MemberRule, readMembers, visibleAscii } from '../credential-members';
import type { DnsProvider, ProviderSession } from '../dns-provider';
import { fixed, JsonApi } from '../http/json-api';
import { rrsetChanges } from '../records/rrset-changes';
import { acceptEndpoint, endpointMember } from '../http/endpoint';
import { PowerdnsClient, reading } from './powerdns-client';

const title = 'PowerDNS';

const advice =
  'The API key of PowerDNS can do everything on its server, and there is no lesser one. Better use dynamic updates (RFC 2136) ' +
  'with a TSIG key that TSIG-ALLOW-DNSUPDATE gives to the zones concerned; or put a proxy in front that lets through only ' +
  'GET of /servers/localhost/zones and search-data, and GET and PATCH of the zones concerned. Serve the API over https, limit it to the ' +
  'addresses of this service (webserver-allow-from), and set DEFAULT-API-RECTIFY where zones are signed.';

const members: readonly MemberRule[] = [
  endpointMember,
  { name: 'api_key', meaning: 'the setting api-key', secret: true, required: true, ...visibleAscii },
  {
    name: 'server_id',
    meaning: 'the server behind the API; localhost when it is not given',
    secret: false,
    required: false,
    shape: /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/,
    shapeDescription: 'letters, digits, dots, dashes and underscores',
  },
];

/** The HTTP API of a customer's own PowerDNS Authoritative Server: whole RRsets in transactions; no compare-and-swap. */
export function powerdnsProvider(): DnsProvider {
  return {
    name: 'powerdns',
    title,
    advice,
    credentialKinds: () => [bearerKind(members)],
    async accept(credentials, _account, ports, signal) {
      const {
        endpoint = '',
        api_key = '',
        server_id = 'localhost',
      } = readMembers(credentials, { bearer: members });
      return { endpoint: await acceptEndpoint(endpoint, ports, signal), api_key, server_id };
    },
    session(kept, _account, { callCustomer: call, now, rest }, signal): ProviderSession {
      const key = keptMember(kept, 'api_key');
      const authorizer = fixed({ headers: { 'x-api-key': key }, secrets: [key] });
      const baseUrl = `${keptMember(kept, 'endpoint')}/api/v1`;
      const json = new JsonApi({ provider: title, baseUrl, authorizer, call, now, rest, signal, ...reading });
      const api = new PowerdnsClient(json, keptMember(kept, 'server_id'));
      return { zones: () => api.zones(), ...rrsetChanges(api, { rest }, signal), renewed: () => null };
    },
  };
}
