import { RCODE, type Rcode } from '../codes';
import { type DnsName } from '../name';
import { type RecordSource, type UpdateTarget } from '../source';
import { decideUpdate, isZoneSectionValid, type ZoneChanges } from '../update/update';
import { type UpdateMessage } from '../update/update-message';
import { MemoryZone } from './memory-zone';

export interface MemoryZonesOptions {
  /** Apexes of the zones that accept RFC 2136 updates. Default: none. */
  readonly updatable?: readonly DnsName[];
  /** Maximum number of records of a zone. Default 100,000. */
  readonly recordLimit?: number;
  /**
   * Called after each change; a change is acknowledged once it resolves. When it rejects, the response is SERVFAIL
   * although the update is applied.
   */
  readonly onChange?: () => void | Promise<void>;
}

/** Zones in memory, changed by UPDATE messages or within this process. */
export class MemoryZones implements RecordSource, UpdateTarget {
  readonly #zones: ReadonlyMap<DnsName, MemoryZone>;
  readonly #updatable: ReadonlySet<DnsName>;
  readonly #recordLimit: number;
  readonly #onChange: () => void | Promise<void>;

  constructor(zones: readonly MemoryZone[], options: MemoryZonesOptions = {}) {
    this.#zones = new Map(zones.map((zone) => [zone.apex, zone]));
    this.#updatable = new Set(options.updatable);
    this.#recordLimit = options.recordLimit ?? 100_000;
    this.#onChange = options.onChange ?? (() => undefined);
  }

  /** The zone nearest above the name. */
  read(name: DnsName): MemoryZone | undefined {
    for (let at = name; ;) {
      const zone = this.#zones.get(at);
      if (zone !== undefined) return zone;
      const dot = at.indexOf('.');
      if (dot === -1) return this.#zones.get('');
      at = at.slice(dot + 1);
    }
  }

  zones(): IterableIterator<MemoryZone> {
    return this.#zones.values();
  }

  async update(message: UpdateMessage): Promise<Rcode> {
    if (!isZoneSectionValid(message)) return RCODE.FORMERR;
    const zone = this.#zones.get(message.zone.name);
    // An unverified signature must not be accepted (RFC 8945 section 5.2).
    if (zone === undefined || message.signed) return RCODE.NOTAUTH;
    if (!this.#updatable.has(zone.apex)) return RCODE.REFUSED;
    const decision = decideUpdate(zone, message);
    if (decision.rcode !== RCODE.NOERROR) return decision.rcode;
    return (await this.apply(zone, decision.changes)) ? RCODE.NOERROR : RCODE.REFUSED;
  }

  /** @returns false without changes when the zone would exceed its limit */
  async apply(zone: MemoryZone, changes: ZoneChanges): Promise<boolean> {
    if (changes.size === 0) return true;
    let size = zone.size;
    for (const [name, after] of changes) size += after.length - (zone.recordsAt(name)?.length ?? 0);
    if (size > this.#recordLimit && size > zone.size) return false;
    zone.commit(changes);
    await this.#onChange();
    return true;
  }
}
