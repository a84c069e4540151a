import { CLASS, storedTypeOf } from './codes';
import { HEADER_OCTETS } from './name';
import { type ZoneRecord } from './record';
import { readQuestion, readRecord } from './request';
import { readContent } from './record-content';
import { WireFault } from './wire-fault';

export interface ResponseRecords {
  readonly answers: readonly ZoneRecord[];
  readonly authority: readonly ZoneRecord[];
}

/**
 * The records of a response, for those who ask: of the Internet class and of the types that a zone here can hold;
 * others are passed over. Read strictly, where dns-packet takes an address that is cut ("127.undefined…"), content of
 * another length than announced, and a dot inside a label for one between labels.
 * @throws WireFault
 */
export function readResponseRecords(message: Buffer): ResponseRecords {
  if (message.length < HEADER_OCTETS) throw new WireFault('no whole header');
  const [questions = 0, answerCount = 0, authorityCount = 0, additionalCount = 0] = [4, 6, 8, 10].map((at) =>
    message.readUInt16BE(at),
  );
  if (questions > 1) throw new WireFault('more than one question');
  let at = HEADER_OCTETS + (questions === 1 ? readQuestion(message).octets.length : 0);
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
  if (at !== message.length) throw new WireFault('octets after the last record');
  return { answers, authority };
}
