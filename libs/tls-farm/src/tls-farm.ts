import {
  DnsServer,
  MemoryZone,
  MemoryZones,
  type RecordSource,
  type ZoneRecord,
} from '@certwright/dns-authority';
import { CaKeys, type CheckOutcome, type FindingCode, type Trust } from '@certwright/endpoint-checks';
import { type AddressedServer, type Behaviour, serveAddresses } from './addressed-server';
import { presents, resetsAtOnce } from './behaviours';
import { FarmCertificates, farmDomain } from './farm-certificates';
import { type FarmServer, farmServers } from './farm-servers';

/** A name whose servers are looked at. */
export interface FarmHost {
  readonly host: string;
  /** Findings of the first check, of the second, and so on in turns; codes in alphabetical order. */
  readonly findings: readonly (readonly FindingCode[])[];
  readonly outcome: CheckOutcome;
}

/** What a spec changes while the farm is open. */
export interface FarmChanges {
  /** Hosts of which every server now presents what a visitor accepts, and every address has a server. */
  readonly corrected: Set<string>;
  /** `connections`: all are reset. `names`: no name can be resolved. */
  outage: 'connections' | 'names' | null;
}

export interface TlsFarm {
  readonly changes: FarmChanges;
  readonly hosts: readonly FarmHost[];
  /** Of every server. */
  readonly port: number;
  /** Resolves the names of the farm. */
  readonly resolver: { readonly host: string; readonly port: number };
  /** Special-purpose networks with the servers. */
  readonly allowedNetworks: readonly string[];
  /** What visitors trust. */
  readonly trust: Trust;
  readonly certificates: FarmCertificates;
  readonly server: AddressedServer;
  close(): Promise<void>;
}

const soa = { mname: 'ns.com', rname: 'ns.com', serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 1 };
const nameOf = (label: string): string => `${label}.${farmDomain}`;

/** Hosts that have no server of their own: what DNS says about them. */
const namesOnly: readonly (FarmHost & { readonly records: readonly ZoneRecord[] })[] = [
  {
    host: nameOf('alias'),
    findings: [[]],
    outcome: 'served',
    records: [{ name: nameOf('alias'), ttl: 1, type: 'CNAME', data: nameOf('good') }],
  },
  {
    host: nameOf('dangling'),
    findings: [['dangling']],
    outcome: 'gone',
    records: [{ name: nameOf('dangling'), ttl: 1, type: 'CNAME', data: nameOf('gone') }],
  },
  {
    host: nameOf('circle'),
    findings: [[]],
    outcome: 'unknown',
    records: [{ name: nameOf('circle'), ttl: 1, type: 'CNAME', data: nameOf('circle') }],
  },
  {
    host: nameOf('text'),
    findings: [['unreachable']],
    outcome: 'gone',
    records: [{ name: nameOf('text'), ttl: 1, type: 'TXT', data: [Buffer.from('text')] }],
  },
  { host: nameOf('gone'), findings: [['unreachable']], outcome: 'gone', records: [] },
  { host: 'refused.example.net', findings: [[]], outcome: 'unknown', records: [] },
];

/** More than seventy hosts on loopback addresses, of which most have something wrong, and a name server for them. */
export async function openTlsFarm(): Promise<TlsFarm> {
  const certificates = new FarmCertificates();
  const changes: FarmChanges = { corrected: new Set(), outage: null };
  const servers = farmServers(certificates).map(placed);
  const behaviours = servers.flatMap(({ behaviours: each }) => each);
  const ipv6: [string, Behaviour] = ['::1', presents([certificates.good, certificates.upper])];
  const accepted = presents([certificates.accepted, certificates.upper]);
  const hostOf = new Map(
    servers.flatMap(({ host: { host }, behaviours: each }) => each.map(([address]) => [address, host])),
  );
  /** What is at an address now. */
  const current = (address: string, behaviour: Behaviour): Behaviour => {
    if (changes.outage === 'connections') return resetsAtOnce;
    return changes.corrected.has(hostOf.get(address) ?? '') ? accepted : behaviour;
  };
  const server = await serveAddresses(
    Object.fromEntries(
      [...behaviours, ipv6].map(([address, behaviour]): [string, Behaviour] => [
        address,
        (socket) => current(address, behaviour)(socket),
      ]),
    ),
  );
  const records = [...servers.flatMap((each) => each.records), ...namesOnly.flatMap((each) => each.records)];
  const zone = new MemoryZone(farmDomain, [{ name: farmDomain, ttl: 1, type: 'SOA', data: soa }, ...records]);
  const names = new DnsServer({
    host: '127.0.0.1',
    port: 0,
    source: changing(zone, new Set(hostOf.keys()), changes),
  });
  const known = [certificates.upper, certificates.lower, certificates.weakUpper];
  return {
    changes,
    hosts: [...servers.map(({ host }) => host), ...namesOnly],
    port: server.port,
    resolver: await names.listen(),
    allowedNetworks: ['127.0.0.0/8', '::1/128'],
    trust: {
      roots: CaKeys.ofCertificates([certificates.root.der]),
      intermediates: CaKeys.ofCertificates(known.map(({ der }) => der)),
    },
    certificates,
    server,
    close: async () => {
      await names.close();
      await server.close();
      certificates.dispose();
    },
  };
}

/**
 * The records as they are now. @param served addresses with a server: those of a corrected host, which has that of `good` if
 * it has none
 */
function changing(zone: MemoryZone, served: ReadonlySet<unknown>, changes: FarmChanges): RecordSource {
  const zones = new MemoryZones([zone]);
  return {
    read: (name) => {
      if (changes.outage === 'names') throw new Error('no name can be resolved');
      const found = zones.read(name);
      if (found === undefined || !changes.corrected.has(name)) return found;
      const own = (zone.recordsAt(name) ?? []).filter(({ data }) => served.has(data));
      const records = own.length > 0 ? own : (zone.recordsAt(nameOf('good')) ?? []);
      return {
        apex: zone.apex,
        recordsAt: (at) =>
          at === name ? records.map((record) => ({ ...record, name })) : found.recordsAt(at),
      };
    },
  };
}

interface PlacedServer {
  readonly host: FarmHost;
  readonly records: readonly ZoneRecord[];
  readonly behaviours: readonly (readonly [string, Behaviour])[];
}

/** Each server is in a network of its own: probers limit connections to one network. */
function placed({ label, at, findings }: FarmServer, nth: number): PlacedServer {
  const name = nameOf(label);
  const places = at.map((each, which) => {
    if (each === 'IPv6') return { address: '::1', behaviour: null };
    if (each === 'private') return { address: `10.0.0.${which + 1}`, behaviour: null };
    const address = `127.80.${nth}.${which + 1}`;
    return { address, behaviour: each === 'closed' ? null : each };
  });
  const isUnreachable = findings.flat().includes('unreachable');
  return {
    host: { host: name, findings, outcome: isUnreachable ? 'unreachable' : 'served' },
    records: places.map(({ address }) => ({
      name,
      ttl: 1,
      type: address.includes(':') ? 'AAAA' : 'A',
      data: address,
    })),
    behaviours: places.flatMap(({ address, behaviour }) =>
      behaviour === null ? [] : [[address, behaviour] as const],
    ),
  };
}
