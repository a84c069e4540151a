import { type Rcode } from './codes';
import { type DnsName } from './name';
import { type ZoneRecord } from './record';
import { type UpdateMessage } from './update/update-message';

/** What one zone holds on the way from its apex to one name. */
export interface ZoneSlice {
  readonly apex: DnsName;
  /**
   * Asked only for the apex, for the name the slice was read for, and for the names between them.
   * `undefined`: the name does not exist. Empty: it exists only because something stands below it. The apex always
   * has its SOA record.
   */
  recordsAt(name: DnsName): readonly ZoneRecord[] | undefined;
}

/**
 * Where the records come from. Called once per query, and once more for each CNAME followed and each in-zone name
 * server of a referral. May be slow or fail: the asker then gets SERVFAIL and tries another server. Nothing is cached
 * here.
 */
export interface RecordSource {
  /** The zone nearest above `name` (which may be any name at all), or `undefined` when no zone here holds it. */
  read(name: DnsName): ZoneSlice | undefined | Promise<ZoneSlice | undefined>;
}

/** What takes RFC 2136 updates. The caller has checked that the message came from this machine, or who signed it. */
export interface UpdateTarget {
  /** Applies the whole message or nothing; resolves once it is as durable as this target promises. */
  update(message: UpdateMessage): Rcode | Promise<Rcode>;
}
