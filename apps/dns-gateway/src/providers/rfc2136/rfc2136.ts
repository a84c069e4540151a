import { isDeepStrictEqual } from 'node:util';
import { RCODE } from '@certwright/dns-authority';
import type { Zone } from '@certwright/gateway-contract';
import { bearerKind } from '../credential-members';
import { checkCustomerHost } from '../customer-host';
import type { AddOutcome, DnsProvider, DnsRecord, ProviderPorts, ProviderSession } from '../dns-provider';
import { ProviderFault } from '../provider-fault';
import { cnameConflict } from '../records/rrset-changes';
import { type Access, accessMembers, kept, keptAccess, readAccess } from './access';
import { addition, type Change, removal, replacements, trial, zoneRecord } from './changes';
import { type Timeouts, defaultTimeouts } from './exchange';
import { noSuchZone, UpdateServer } from './update-server';

export interface Rfc2136Options {
  /** Default port; 53 according to RFC 1035. */
  readonly defaultPort?: number;
  readonly timeouts?: Timeouts;
}

const advice =
  'Make a TSIG key (hmac-sha256 or better) for this alone, and let it change only TXT and CNAME at the _acme-challenge names ' +
  'that need it. BIND: update-policy { grant <key> name _acme-challenge.www.example.com. TXT CNAME; }; Knot: an acl with ' +
  'action update, update-type and update-owner-name. Not allow-update, which allows changes to the whole zone. Name the server ' +
  'that takes updates, which may be a hidden primary, and every zone, as the protocol cannot list them.';

/** Dynamic updates (RFC 2136) signed with TSIG (RFC 8945): BIND, Knot, PowerDNS, Windows and other servers. */
export function rfc2136Provider(options: Rfc2136Options = {}): DnsProvider {
  const { defaultPort = 53, timeouts = defaultTimeouts } = options;
  const serverOf = (access: Access, ports: ProviderPorts, signal: AbortSignal): UpdateServer =>
    new UpdateServer(access, timeouts, ports, signal);
  return {
    name: 'rfc2136',
    title: 'Dynamic updates (RFC 2136)',
    advice,
    credentialKinds: () => [bearerKind(accessMembers)],
    async accept(credentials, _account, ports, signal) {
      const access = readAccess(credentials, defaultPort);
      await checkCustomerHost('credentials.server', access.server, ports, signal);
      const server = serverOf(access, ports, signal);
      for (const zone of access.zones) await checkZone(server, zone);
      return kept(access);
    },
    session: (credentials, _account, ports, signal) => {
      const access = keptAccess(credentials);
      return session(access, serverOf(access, ports, signal));
    },
  };
}

/** The server must be authoritative for the zone, and accept a signed update that changes nothing. */
async function checkZone(server: UpdateServer, zone: string): Promise<void> {
  const { rcode, authoritative, answers } = await server.query(zone, zone, 'SOA');
  const isThere = answers.some(({ type, name }) => type === 'SOA' && name === zone);
  if (rcode !== RCODE.NOERROR || !authoritative || !isThere) throw noSuchZone(zone);
  faultless(await server.update(zone, trial(zone)), zone);
}

function session({ zones }: Access, server: UpdateServer): ProviderSession {
  const change = async (zone: Zone, wanted: Change): Promise<void> =>
    faultless(await server.update(zone.name, wanted), zone.name);
  return {
    zones: () => Promise.resolve(zones.map((name) => ({ id: name, name }))),
    add: async (zone, record) => {
      const outcome = await outcomeOfAdding(server, zone, record);
      await change(zone, addition(zoneRecord(record)));
      await checkVisible(server, zone, record);
      return outcome;
    },
    replace: async (zone, record) => {
      const outcome = await outcomeOfAdding(server, zone, record);
      let rcode: number = RCODE.YXRRSET;
      for (const wanted of replacements(zoneRecord(record))) {
        if (rcode === RCODE.YXRRSET) rcode = await server.update(zone.name, wanted);
      }
      faultless(rcode, zone.name);
      await checkVisible(server, zone, record);
      return outcome;
    },
    remove: (zone, record) => change(zone, removal(zoneRecord(record))),
    renewed: () => null,
  };
}

/**
 * No prerequisite of an update means "unless this value exists", so the server is queried first. If it accepts
 * updates but refuses queries, this is unknown; the record then counts as created, so that it can be removed.
 */
async function outcomeOfAdding(server: UpdateServer, zone: Zone, record: DnsRecord): Promise<AddOutcome> {
  const wanted = zoneRecord(record);
  const { rcode, answers } = await server.query(zone.name, record.fqdn, wanted.type);
  if (rcode !== RCODE.NOERROR) return 'created';
  const isThere = answers.some(
    ({ name, type, data }) =>
      name === wanted.name && type === wanted.type && isDeepStrictEqual(data, wanted.data),
  );
  return isThere ? 'existed' : 'created';
}

/** The server silently ignores a CNAME beside a type without a prerequisite (RFC 2136, section 3.4.2.2). */
async function checkVisible(server: UpdateServer, zone: Zone, record: DnsRecord): Promise<void> {
  if (record.type !== 'CNAME') return;
  const { rcode, answers } = await server.query(zone.name, record.fqdn, 'CNAME');
  // Some servers accept updates but answer no queries.
  if (rcode === RCODE.REFUSED || answers.some(({ type }) => type === 'CNAME')) return;
  throw cnameConflict(record);
}

/** @throws ProviderFault for every response code except NOERROR */
function faultless(rcode: number, zone: string): void {
  switch (rcode) {
    case RCODE.NOERROR:
      return;
    case RCODE.NOTAUTH:
    case RCODE.NOTZONE:
      throw noSuchZone(zone);
    case RCODE.REFUSED:
      throw new ProviderFault(
        'auth_failed',
        `The DNS server does not let this key change that in ${zone} (REFUSED).`,
      );
    case RCODE.NXDOMAIN:
    case RCODE.YXDOMAIN:
    case RCODE.YXRRSET:
    case RCODE.NXRRSET:
      throw new ProviderFault(
        'conflict',
        `This name in ${zone} has a record that this one cannot coexist with.`,
      );
    case RCODE.NOTIMP:
      throw new ProviderFault('rejected', 'The DNS server takes no dynamic updates (NOTIMP).');
    default:
      throw new ProviderFault(
        'rejected',
        `The DNS server refused the update to ${zone} (response code ${rcode}).`,
      );
  }
}
