import { CLASS, storedTypeOf } from './codes';
import { HEADER_BYTES } from './name';
import { type ZoneRecord } from './record';
import { readQuestion, readRecord } from './request';
import { readContent } from './record-content';
import { WireFault } from './wire-fault';

export interface ResponseHeader {
  readonly id: number;
  readonly opcode: number;
  readonly authoritative: boolean;
  readonly truncated: boolean;
  /** The header's four bits. */
  readonly rcode: number;
  /** The question section of the message; empty when there is none. */
  readonly questionBytes: Buffer;
}

/** @throws WireFault unless the bytes are a response */
export function readResponseHeader(message: Buffer): ResponseHeader {
  if (message.length < HEADER_BYTES) throw new WireFault('no whole header');
  const flags = message.readUInt16BE(2);
  if ((flags & 0x8000) === 0) throw new WireFault('a request where a response belongs');
  const questions = message.readUInt16BE(4);
  if (questions > 1) throw new WireFault('more than one question');
  return {
    id: message.readUInt16BE(0),
    opcode: (flags >> 11) & 0xf,
    authoritative: (flags & 0x0400) !== 0,
    truncated: (flags & 0x0200) !== 0,
    rcode: flags & 0xf,
    questionBytes: questions === 1 ? readQuestion(message).bytes : Buffer.alloc(0),
  };
}

export interface ResponseRecords {
  readonly answers: readonly ZoneRecord[];
  readonly authority: readonly ZoneRecord[];
}

/**
 * The records of a response, of the Internet class and of supported types; others are skipped. Strict, unlike
 * dns-packet, which accepts a truncated address ("127.undefined…") and content of a wrong length, and confuses a dot
 * inside a label with a separator.
 * @throws WireFault
 */
export function readResponseRecords(message: Buffer): ResponseRecords {
  if (message.length < HEADER_BYTES) throw new WireFault('no whole header');
  const [questions = 0, answerCount = 0, authorityCount = 0, additionalCount = 0] = [4, 6, 8, 10].map((at) =>
    message.readUInt16BE(at),
  );
  if (questions > 1) throw new WireFault('more than one question');
  let at = HEADER_BYTES + (questions === 1 ? readQuestion(message).bytes.length : 0);
  const section = (count: number) => {
    const records: ZoneRecord[] = [];
    for (let n = 0; n < count; n++) {
      const wire = readRecord(message, at);
      const type = wire.class === CLASS.IN ? storedTypeOf(wire.type) : undefined;
      if (type !== undefined) {
        const content = readContent(message, type, wire.contentAt, wire.next);
        records.push({ ...content, name: wire.name, ttl: wire.ttl });
      }
      at = wire.next;
    }
    return records;
  };
  const answers = section(answerCount);
  const authority = section(authorityCount);
  for (let n = 0; n < additionalCount; n++) at = readRecord(message, at).next;
  if (at !== message.length) throw new WireFault('bytes after the last record');
  return { answers, authority };
}
