import type { PlainRecord } from './provider-world';

export interface FakeRecord extends PlainRecord {
  readonly id: string;
  readonly ttl: number;
}

export interface FakeZone {
  readonly id: string;
  readonly name: string;
  /** In order of creation; `value` in the contract's normal form. */
  records: readonly FakeRecord[];
}

/** The zones behind a fake API. */
export class FakeZones {
  readonly all: readonly FakeZone[];
  #ids = 0;

  /** @param idOf returns an id in the API's format; default: 32 hexadecimal digits */
  constructor(names: readonly string[], idOf: (name: string, at: number) => string = hexId) {
    this.all = names.map((name, at) => ({ id: idOf(name, at), name, records: [] }));
  }

  byId(id: string): FakeZone | undefined {
    return this.all.find((zone) => zone.id === id);
  }

  byName(name: string): FakeZone | undefined {
    return this.all.find((zone) => zone.name === name);
  }

  /** The zone that a name server would answer from: the longest match. */
  holding(fqdn: string): FakeZone {
    const [zone] = this.all
      .filter(({ name }) => fqdn === name || fqdn.endsWith(`.${name}`))
      .sort((one, other) => other.name.length - one.name.length);
    if (zone === undefined) throw new Error(`No zone holds ${fqdn}.`);
    return zone;
  }

  add(zone: FakeZone, record: PlainRecord & { readonly ttl?: number }): FakeRecord {
    this.#ids += 1;
    const stored = { ttl: 300, ...record, id: String(this.#ids) };
    zone.records = [...zone.records, stored];
    return stored;
  }

  remove(zone: FakeZone, id: string): boolean {
    const before = zone.records.length;
    zone.records = zone.records.filter((record) => record.id !== id);
    return zone.records.length < before;
  }

  at(fqdn: string): readonly FakeRecord[] {
    return this.holding(fqdn).records.filter((record) => record.fqdn === fqdn);
  }

  /** For `ProviderWorld`. */
  readonly plant = async (record: PlainRecord): Promise<void> => {
    this.add(this.holding(record.fqdn), record);
  };

  /** For `ProviderWorld`. */
  readonly list = async (fqdn: string): Promise<readonly PlainRecord[]> =>
    this.at(fqdn).map(({ fqdn: at, type, value }) => ({ fqdn: at, type, value }));
}

const hexId = (_: string, at: number): string => (0xabcd_0000 + at).toString(16).padStart(32, '0');

/** Names of zones, of which the first two are `example.com` and `sub.example.com`. */
export const zoneNames = (count: number): readonly string[] => [
  'example.com',
  'sub.example.com',
  ...Array.from({ length: count - 2 }, (_, at) => `zone-${at}.example`),
];

/** RFC 1034, section 3.6.2: whether a record of this type conflicts with those. */
export const clashes = (type: string, others: readonly { readonly type: string }[]): boolean =>
  others.some((other) => (type === 'CNAME') !== (other.type === 'CNAME'));
