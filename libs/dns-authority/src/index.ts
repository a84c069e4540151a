export { queryBytes, updateBytes, type Prerequisite, type UpdateStep } from './asking/request-bytes';
export { OPCODE, RCODE, STORED_TYPE, type StoredType, type TsigError } from './codes';
export { MemoryZone } from './memory/memory-zone';
export { MemoryZones } from './memory/memory-zones';
export { isAtOrBelow, parseName, pathBelow, type DnsName } from './name';
export {
  TTL_LIMIT_S,
  recordsOfType,
  sameRecord,
  textStrings,
  unwritable,
  type Caa,
  type RecordData,
  type ZoneRecord,
} from './record';
export { isLoopback, type Admission, type Answered, type Peer } from './responder';
export { readResponseHeader, readResponseRecords } from './response';
export { DnsServer } from './server/dns-server';
export type { RecordSource, ZoneSlice } from './source';
export { signRequest, verifyResponse } from './tsig/asker';
export { readTsigKey, TSIG_ALGORITHMS, type TsigKey } from './tsig/tsig-key';
export { Draft } from './update/update';
export { WireFault } from './wire-fault';
