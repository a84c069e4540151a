import { SocketAddress } from 'node:net';
import { type StoredType } from './codes';
import { readName } from './name';
import { type RecordData } from './record';
import { WireFault } from './wire-fault';

/** SOA: serial, refresh, retry, expire, minimum. */
const SOA_NUMBERS_BYTES = 20;

/**
 * Content (RDATA) of the stored types, which must fill the bytes from `start` to `end` exactly.
 * @throws WireFault
 */
export function readContent(message: Buffer, type: StoredType, start: number, end: number): RecordData {
  switch (type) {
    case 'A':
      return { type, data: address('ipv4', message.subarray(start, end)) };
    case 'AAAA':
      return { type, data: address('ipv6', message.subarray(start, end)) };
    case 'CNAME':
    case 'NS': {
      const { name, next } = readName(message, start);
      if (next !== end) throw new WireFault('content of another length than announced');
      return { type, data: name };
    }
    case 'TXT':
      return { type, data: characterStrings(message, start, end) };
    case 'CAA':
      return caa(message.subarray(start, end));
    case 'SOA':
      return soa(message, start, end);
  }
}

function address(family: 'ipv4' | 'ipv6', bytes: Buffer): string {
  if (bytes.length !== (family === 'ipv4' ? 4 : 16)) throw new WireFault('an address of another length');
  if (family === 'ipv4') return bytes.join('.');
  const groups = bytes.toString('hex').replace(/(.{4})(?=.)/g, '$1:');
  return new SocketAddress({ family, address: groups }).address;
}

function characterStrings(message: Buffer, start: number, end: number): Buffer[] {
  const strings: Buffer[] = [];
  for (let at = start; at < end;) {
    const next = at + 1 + message.readUInt8(at);
    if (next > end) throw new WireFault('a character-string runs past its record');
    // A copy, since the record outlives the message.
    strings.push(Buffer.from(message.subarray(at + 1, next)));
    at = next;
  }
  return strings;
}

/** RFC 8659 section 4.1: flags, the tag with its length, and the value up to the end, which may be any bytes. */
function caa(content: Buffer): RecordData {
  const flags = content[0];
  const tagEnd = 2 + (content[1] ?? 0);
  const tag = content.toString('latin1', 2, tagEnd);
  const value = content.toString('latin1', tagEnd);
  if (flags === undefined || tagEnd > content.length) throw new WireFault('no CAA content');
  if (!/^[A-Za-z0-9]+$/.test(tag)) throw new WireFault('no CAA content');
  return { type: 'CAA', data: { flags, tag, value } };
}

function soa(message: Buffer, start: number, end: number): RecordData {
  const { name: mname, next: rnameAt } = readName(message, start);
  const { name: rname, next: at } = readName(message, rnameAt);
  if (at + SOA_NUMBERS_BYTES !== end) throw new WireFault('no SOA content');
  return {
    type: 'SOA',
    data: {
      mname,
      rname,
      serial: message.readUInt32BE(at),
      refresh: message.readUInt32BE(at + 4),
      retry: message.readUInt32BE(at + 8),
      expire: message.readUInt32BE(at + 12),
      minimum: message.readUInt32BE(at + 16),
    },
  };
}
