import { CLASS, STORED_TYPE } from '../codes';

/** One record of an UPDATE message, written by hand, since dns-packet cannot write class NONE without content. */
export interface WrittenRecord {
  readonly name: string;
  readonly type?: keyof typeof STORED_TYPE | number;
  readonly class?: number;
  readonly ttl?: number;
  readonly content?: Buffer;
}

const TYPE_ANY = 255;

export function nameBytes(name: string): Buffer {
  const labels = name === '' ? [] : name.split('.');
  return Buffer.concat([
    ...labels.map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)])),
    Buffer.of(0),
  ]);
}

export function txtBytes(...strings: string[]): Buffer {
  return Buffer.concat(strings.map((text) => Buffer.concat([Buffer.of(text.length), Buffer.from(text)])));
}

export function soaBytes(serial: number): Buffer {
  const numbers = Buffer.alloc(20);
  numbers.writeUInt32BE(serial, 0);
  return Buffer.concat([nameBytes('ns1.example.com'), nameBytes('hostmaster.example.com'), numbers]);
}

function recordBytes(record: WrittenRecord): Buffer {
  const { type = TYPE_ANY, content = Buffer.alloc(0) } = record;
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(typeof type === 'number' ? type : STORED_TYPE[type], 0);
  fixed.writeUInt16BE(record.class ?? CLASS.IN, 2);
  fixed.writeUInt32BE(record.ttl ?? 0, 4);
  fixed.writeUInt16BE(content.length, 8);
  return Buffer.concat([nameBytes(record.name), fixed, content]);
}

export interface WrittenUpdate {
  readonly zone?: string;
  readonly zoneType?: number;
  readonly prerequisites?: readonly WrittenRecord[];
  readonly updates?: readonly WrittenRecord[];
  readonly additionals?: readonly WrittenRecord[];
}

export function updateMessage(update: WrittenUpdate): Buffer {
  const { prerequisites = [], updates = [], additionals = [] } = update;
  const header = Buffer.alloc(12);
  [0x4242, 5 << 11, 1, prerequisites.length, updates.length, additionals.length].forEach((value, n) =>
    header.writeUInt16BE(value, n * 2),
  );
  const zone = Buffer.alloc(4);
  zone.writeUInt16BE(update.zoneType ?? STORED_TYPE.SOA, 0);
  zone.writeUInt16BE(CLASS.IN, 2);
  return Buffer.concat([
    header,
    nameBytes(update.zone ?? 'example.com'),
    zone,
    ...[...prerequisites, ...updates, ...additionals].map(recordBytes),
  ]);
}
