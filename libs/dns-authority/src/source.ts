import { type Rcode } from './codes';
import { type DnsName } from './name';
import { type ZoneRecord } from './record';
import { type UpdateMessage } from './update/update-message';

/** The records of a zone from its apex to one name. */
export interface ZoneSlice {
  readonly apex: DnsName;
  /**
   * Called only for the apex, the name that the slice was read for, and the names between them. `undefined`: the name
   * does not exist. Empty: it exists only because names below it do. The apex always has its SOA record.
   */
  recordsAt(name: DnsName): readonly ZoneRecord[] | undefined;
}

/**
 * A source of records. Called once per query, and once more for each CNAME followed and each in-zone name server of a
 * referral. May be slow or fail: the client then gets SERVFAIL and tries another server. Results are not cached.
 */
export interface RecordSource {
  /** The closest zone that contains `name` (any name), or `undefined`. */
  read(name: DnsName): ZoneSlice | undefined | Promise<ZoneSlice | undefined>;
}

/** Applies RFC 2136 updates. The caller has checked that the message came from this machine or is signed. */
export interface UpdateTarget {
  /** Applies the whole message or nothing; resolves once the change is durable. */
  update(message: UpdateMessage): Rcode | Promise<Rcode>;
}
