import { createHash } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { type DnsName, pathBelow, type ZoneRecord, type ZoneSlice } from '@certwright/dns-authority';
import type { ValuesAt } from '@certwright/redis';
import type { NameServer, ZoneSettings } from './dns-settings';

/** TTL of records that change only with the settings, seconds. */
const standingTtlS = 3_600;

/** Seconds. There are no zone transfers; zone checkers expect these values (RFC 1912, section 2.2). */
const copying = { refresh: 7_200, retry: 900, expire: 1_209_600 } as const;

/** The records of the approval zone, and of the names that customers delegate to it. */
export class ZoneRecords {
  readonly #fixed: ReadonlyMap<DnsName, readonly ZoneRecord[]>;
  readonly #serial: number;

  constructor(private readonly zone: ZoneSettings) {
    this.#serial = serialOf(zone);
    this.#fixed = this.#fixedRecords();
  }

  /** Names that exist by settings alone. */
  get fixedNames(): ReadonlySet<DnsName> {
    return new Set(this.#fixed.keys());
  }

  /** For every name in the zone that is not the target of a standing record. */
  fixedSlice(): ZoneSlice {
    return { apex: this.zone.apex, recordsAt: (name) => this.#fixed.get(name) };
  }

  /**
   * For the target of a standing record. It has addresses too: when a customer delegates to it by NS, resolvers query
   * these addresses as name servers.
   */
  targetSlice(label: string, values: ValuesAt): ZoneSlice {
    if (values === null) return this.fixedSlice();
    const target = `${label}.${this.zone.apex}`;
    const records = [...this.#addresses(target, this.zone.nameServers), ...this.#texts(target, values)];
    return {
      apex: this.zone.apex,
      recordsAt: (name) => (name === target ? records : this.#fixed.get(name)),
    };
  }

  /**
   * For `_acme-challenge.<name>` as a separate zone. Its NS records use our servers' own names: a target's label is
   * known only to its account, and several accounts may have one for the same name.
   */
  delegatedSlice(apex: DnsName, values: readonly string[]): ZoneSlice {
    const records = [...this.#apexRecords(apex), ...this.#texts(apex, values)];
    return { apex, recordsAt: (name) => (name === apex ? records : undefined) };
  }

  #fixedRecords(): ReadonlyMap<DnsName, readonly ZoneRecord[]> {
    const { apex, nameServers } = this.zone;
    const fixed = new Map<DnsName, readonly ZoneRecord[]>([[apex, this.#apexRecords(apex)]]);
    for (const { name } of nameServers) {
      if (name !== apex && !name.endsWith(`.${apex}`)) continue;
      // Names between the zone and a name server exist as well (RFC 8020).
      for (const between of pathBelow(apex, name)) if (!fixed.has(between)) fixed.set(between, []);
      const same = nameServers.filter((server) => server.name === name);
      const others = (fixed.get(name) ?? []).filter(({ type }) => type !== 'A' && type !== 'AAAA');
      fixed.set(name, [...others, ...this.#addresses(name, same)]);
    }
    return fixed;
  }

  #apexRecords(name: DnsName): readonly ZoneRecord[] {
    const { nameServers, mailbox, negativeTtlS } = this.zone;
    const names = [...new Set(nameServers.map((server) => server.name))];
    const soa = { rname: mailbox, serial: this.#serial, ...copying, minimum: negativeTtlS };
    return [
      { type: 'SOA', name, ttl: standingTtlS, data: { mname: names[0] ?? this.zone.apex, ...soa } },
      ...names.map((data) => ({ type: 'NS', name, ttl: standingTtlS, data }) as const),
    ];
  }

  #addresses(name: DnsName, servers: readonly NameServer[]): readonly ZoneRecord[] {
    return [...new Set(servers.flatMap(({ addresses }) => addresses))].map((data) => ({
      type: isIPv4(data) ? 'A' : 'AAAA',
      name,
      ttl: standingTtlS,
      data,
    }));
  }

  #texts(name: DnsName, values: readonly string[]): readonly ZoneRecord[] {
    return values.map((value) => ({
      type: 'TXT',
      name,
      ttl: this.zone.valueTtlS,
      data: [Buffer.from(value)],
    }));
  }
}

/** Equal in every copy, and different with other settings; it is not used for zone transfers. */
function serialOf({ apex, nameServers, mailbox, negativeTtlS }: ZoneSettings): number {
  const settings = JSON.stringify([apex, nameServers, mailbox, negativeTtlS]);
  return createHash('sha256').update(settings).digest().readUInt32BE() || 1;
}
