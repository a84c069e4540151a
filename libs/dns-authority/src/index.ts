export { answer, bareReply, type Outcome, type Reply, type SlicesRead } from './answer';
export { RCODE, STORED_TYPE, storedTypeOf, type Rcode, type StoredType } from './codes';
export { MemoryZone } from './memory/memory-zone';
export { MemoryZones, type MemoryZonesOptions } from './memory/memory-zones';
export { isAtOrBelow, parseName, pathBelow, type DnsName } from './name';
export {
  TTL_LIMIT_S,
  recordsOfType,
  sameRecord,
  textStrings,
  unwritable,
  type Caa,
  type RecordData,
  type RecordOf,
  type Soa,
  type ZoneRecord,
} from './record';
export { isLoopback, type Answered, type Peer } from './responder';
export { readResponseRecords, type ResponseRecords } from './response';
export { DnsServer, type DnsServerOptions } from './server/dns-server';
export { type DnsServerLimits } from './server/limits';
export { type RecordSource, type UpdateTarget, type ZoneSlice } from './source';
export { type ZoneContent } from './update/prerequisites';
export { Draft, type ZoneChanges } from './update/update';
export { type UpdateMessage, type UpdateRecord } from './update/update-message';
