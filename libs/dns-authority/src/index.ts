export { answer, bareReply, type Outcome, type Reply, type SlicesRead } from './answer';
export {
  queryBytes,
  updateBytes,
  type Prerequisite,
  type Update,
  type UpdateStep,
} from './asking/request-bytes';
export {
  OPCODE,
  RCODE,
  STORED_TYPE,
  storedTypeOf,
  type Rcode,
  type StoredType,
  type TsigError,
} from './codes';
export { MemoryZone } from './memory/memory-zone';
export { MemoryZones, type MemoryZonesOptions } from './memory/memory-zones';
export { isAtOrBelow, nameBytes, parseName, pathBelow, type DnsName } from './name';
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
export { isLoopback, type Admission, type Answered, type Peer } from './responder';
export {
  readResponseHeader,
  readResponseRecords,
  type ResponseHeader,
  type ResponseRecords,
} from './response';
export { DnsServer, type DnsServerOptions } from './server/dns-server';
export { type DnsServerLimits } from './server/limits';
export { type RecordSource, type UpdateTarget, type ZoneSlice } from './source';
export { signRequest, verifyResponse, type ResponseVerdict, type SignedRequest } from './tsig/asker';
export {
  readTsigKey,
  TSIG_ALGORITHMS,
  type TsigAlgorithm,
  type TsigKey,
  type TsigKeyFault,
} from './tsig/tsig-key';
export { type ZoneContent } from './update/prerequisites';
export { Draft, type ZoneChanges } from './update/update';
export { type UpdateMessage, type UpdateRecord } from './update/update-message';
export { WireFault } from './wire-fault';
