import { BlockReader } from './block-reader';
import { keyBytes, type TakePosting } from './posting';
import { blockBytes, filterHead, type PostingBlock, RecentDays, small, unlisted } from './posting-block';

/** Room that one more posting may need: its varint, a day and the next key. */
const maxPostingLength = 8 + 4 + 7;

/**
 * Fills blocks one after another from postings in order. The postings of a key are in one block if they fit into one; otherwise a
 * block begins with them, so that the first page of a key needs no second one.
 */
export class BlockWriter {
  private readonly buffer = Buffer.alloc(blockBytes);
  private at = 0;
  /** Those in the block, each once. */
  private keys: number[] = [];
  private firstKey = 0;
  private firstPosition = 0;
  private key = -1;
  /** Where the key begins in the buffer; 0: it is the first one. */
  private keyAt = 0;
  private position = 0;
  private readonly days = new RecentDays();
  /** The posting that waits for the next one, to know whether its key goes on. */
  private waits = false;
  private ofPosition = 0;
  private ofDay = 0;

  /**
   * @param from first position of the run
   * @param done takes each block that is full
   * @param bytes of a block at most
   */
  constructor(
    private readonly from: number,
    private readonly done: (block: PostingBlock) => void,
    private readonly bytes = blockBytes,
  ) {}

  readonly add: TakePosting = (key, position, day) => {
    const goesOn = key === this.key;
    if (this.waits) this.write(goesOn);
    if (goesOn && this.keyAt > 0 && !this.hasRoom) this.moveKey();
    if (this.at === 0 || !this.hasRoom) this.begin(key, goesOn ? position : 0, day);
    else if (!goesOn) {
      this.keys.push(key);
      this.keyAt = this.at;
      this.at = writeVarint(this.buffer, this.at, key - this.key);
      this.position = this.from;
    }
    this.key = key;
    this.ofPosition = position;
    this.ofDay = day;
    this.waits = true;
  };

  /** The last block, and the end; the writer goes on with another shard all the same. */
  flush(): void {
    if (this.waits) this.write(false);
    this.waits = false;
    this.emit();
    this.key = -1;
  }

  /** For one more posting, of another key. */
  private get hasRoom(): boolean {
    return filterHead + this.keys.length + 1 + this.at + maxPostingLength <= this.bytes;
  }

  /** The last key becomes the first one of another block. */
  private moveKey(): void {
    const { key } = this;
    const reader = new BlockReader(this.bytesOfBlock());
    reader.skipTo(key);
    this.at = this.keyAt;
    this.keys.pop();
    for (let isFirst = true; reader.next(); isFirst = false) {
      this.ofPosition = reader.position;
      this.ofDay = reader.day;
      if (isFirst) this.begin(key, 0, reader.day);
      this.write(true);
    }
  }

  private begin(key: number, firstPosition: number, day: number): void {
    this.emit();
    this.keys = [key];
    this.keyAt = 0;
    this.firstKey = key;
    this.firstPosition = firstPosition;
    this.position = this.from;
    this.days.begin(day);
    this.buffer.writeUIntBE(key, 0, keyBytes);
    this.at = writeVarint(this.buffer, writeVarint(this.buffer, keyBytes, this.from), day);
  }

  private write(goesOn: boolean): void {
    const { buffer, days } = this;
    const distance = this.ofPosition - this.position;
    const latest = days.latest;
    const nth = days.take(this.ofDay);
    this.at = writeVarint(buffer, this.at, distance * 8 + (goesOn ? 4 : 0) + nth);
    if (nth === unlisted) this.at = writeVarint(buffer, this.at, zigzag(this.ofDay - latest));
    this.position = this.ofPosition;
  }

  private emit(): void {
    const { firstKey, firstPosition, at } = this;
    if (at > 0) this.done({ firstKey, firstPosition, bytes: this.bytesOfBlock() });
    this.at = 0;
  }

  private bytesOfBlock(): Buffer {
    return Buffer.concat([filterOf(this.keys), this.buffer.subarray(0, this.at)]);
  }
}

/** A byte for each key: of eight keys that are not in the block, it lets one through. */
function filterOf(keys: readonly number[]): Buffer {
  const filter = Buffer.alloc(filterHead + keys.length);
  filter.writeUInt16BE(keys.length);
  for (const key of keys) {
    const bit = key % (8 * keys.length);
    const at = filterHead + (bit >>> 3);
    filter[at] = (filter[at] ?? 0) | (1 << (bit & 7));
  }
  return filter;
}

function zigzag(value: number): number {
  return value < 0 ? -2 * value - 1 : 2 * value;
}

/** @returns where the next byte goes */
function writeVarint(buffer: Buffer, at: number, value: number): number {
  let next = at;
  let rest = value;
  if (value >= small) {
    rest = Math.floor(value / small);
    const low = value - rest * small;
    buffer[next++] = (low & 127) | 128;
    buffer[next++] = ((low >>> 7) & 127) | 128;
    buffer[next++] = ((low >>> 14) & 127) | 128;
    buffer[next++] = (low >>> 21) | 128;
  }
  for (; rest >= 128; rest >>>= 7) buffer[next++] = (rest & 127) | 128;
  buffer[next++] = rest;
  return next;
}
