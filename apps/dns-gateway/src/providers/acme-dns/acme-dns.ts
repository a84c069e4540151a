import { Problem } from '@certwright/errors';
import type { Zone } from '@certwright/gateway-contract';
import { bearerKind, keptMember, type MemberRule, readMembers, visibleAscii } from '../credential-members';
import type {
  DnsProvider,
  DnsRecord,
  KeptCredentials,
  ProviderPorts,
  ProviderSession,
} from '../dns-provider';
import { fixed, JsonApi } from '../http/json-api';
import { acceptEndpoint, endpointMember } from '../http/endpoint';
import { ProviderFault } from '../provider-fault';

const title = 'acme-dns';

const advice =
  'Register once at your acme-dns server (POST /register, with allowfrom set to the addresses of this service), and point a ' +
  'CNAME at _acme-challenge of each name to the fulldomain that it gave. The credentials can change that one TXT record and ' +
  'nothing else. acme-dns keeps the two newest values and cannot remove one: a removal is a success that changes nothing, ' +
  'the value stays until two newer ones are added, and adding a value again may push out the other one.';

/** RFC 8555, section 8.4: a SHA-256 digest in base64url, the only text that acme-dns accepts. */
const challengeDigest = /^[A-Za-z0-9_-]{43}$/;

const members: readonly MemberRule[] = [
  endpointMember,
  { name: 'username', meaning: 'from the registration', secret: false, required: true, ...visibleAscii },
  { name: 'password', meaning: 'from the registration', secret: true, required: true, ...visibleAscii },
  {
    name: 'subdomain',
    meaning: 'from the registration',
    secret: false,
    required: true,
    shape: /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    shapeDescription: 'one label of lower-case letters, digits and dashes',
  },
  {
    name: 'fulldomain',
    meaning: 'from the registration: the subdomain within the zone of the server',
    secret: false,
    required: true,
    shape:
      /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    shapeDescription: 'a domain name in lower case, without a dot at the end',
  },
];

/** https://github.com/acme-dns/acme-dns: one name with two TXT values, and an API that replaces the older one. */
export function acmeDnsProvider(): DnsProvider {
  return {
    name: 'acme-dns',
    title,
    advice,
    credentialKinds: () => [bearerKind(members)],
    // Not tested: the only possible call would overwrite a value.
    async accept(credentials, _account, ports, signal) {
      const given = readMembers(credentials, { bearer: members });
      const { endpoint = '', subdomain = '', fulldomain = '' } = given;
      if (!fulldomain.startsWith(`${subdomain}.`) || zoneName(fulldomain) === '') {
        const message = 'credentials.fulldomain must begin with the subdomain and a dot.';
        throw Problem.ofFields([{ field: 'credentials.fulldomain', code: 'invalid_value', message }]);
      }
      return { ...given, endpoint: await acceptEndpoint(endpoint, ports, signal) };
    },
    session: (kept, _account, ports, signal) => session(kept, ports, signal),
  };
}

const zoneName = (fulldomain: string): string => fulldomain.slice(fulldomain.indexOf('.') + 1);

function session(
  kept: KeptCredentials,
  { callCustomer: call, now, rest }: ProviderPorts,
  signal: AbortSignal,
): ProviderSession {
  const fulldomain = keptMember(kept, 'fulldomain');
  const password = keptMember(kept, 'password');
  const headers = { 'x-api-user': keptMember(kept, 'username'), 'x-api-key': password };
  const api = new JsonApi({
    provider: title,
    baseUrl: keptMember(kept, 'endpoint'),
    authorizer: fixed({ headers, secrets: [password, headers['x-api-user'], keptMember(kept, 'subdomain')] }),
    call,
    now,
    rest,
    signal,
  });
  const zone: Zone = { id: keptMember(kept, 'subdomain'), name: zoneName(fulldomain) };
  return {
    zones: () => Promise.resolve([zone]),
    async add(_zone, record) {
      checkPossible(record, fulldomain);
      const body = { subdomain: zone.id, txt: record.value };
      const { json } = await api.request({ method: 'POST', path: '/update', body });
      if (json.member('txt').string() === record.value) return 'created';
      throw new ProviderFault(
        'unavailable',
        'acme-dns did not respond as documented: it took another value.',
      );
    },
    replace: (_zone, { fqdn }) =>
      Promise.reject(
        new ProviderFault('rejected', `acme-dns keeps two values at ${fqdn} and cannot replace both.`),
      ),
    async remove(_zone, record) {
      checkPossible(record, fulldomain);
    },
    renewed: () => null,
  };
}

/** @throws ProviderFault `rejected`, `zone_not_found` */
function checkPossible({ fqdn, type, value }: DnsRecord, fulldomain: string): void {
  if (fqdn !== fulldomain) {
    throw new ProviderFault('zone_not_found', `These credentials are for ${fulldomain} and no other name.`);
  }
  if (type !== 'TXT' || !challengeDigest.test(value)) {
    throw new ProviderFault(
      'rejected',
      'acme-dns takes TXT values of 43 base64url characters and nothing else.',
    );
  }
}
