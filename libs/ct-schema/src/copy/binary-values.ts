const minSize = 1_024;
/** Above this many bytes a copy is faster than a loop. */
const loopedBytes = 48;
/** One certificate may have 16 MB: no room is made for a second one. */
const maxGrowth = 2 * 1_048_576;
/** 2000-01-01, from which timestamps of PostgreSQL count, ms. */
const epochMs = 946_684_800_000;
const upperHalf = 2 ** 32;

/** Types by their numbers in pg_type. */
const typeIds = { bytea: 17, int8: 20, int4: 23, text: 25, timestamptz: 1184, uuid: 2950 } as const;

/**
 * Values in the binary form of PostgreSQL, each after its length: the server takes them as they are, where in a text each byte
 * of a bytea is four characters to be parsed.
 */
export class BinaryValues {
  private buffer: Buffer;
  protected at: number;

  /**
   * @param begin bytes before the first value
   * @param expected bytes of all values; more may come
   */
  constructor(begin: Uint8Array, expected: number) {
    this.buffer = Buffer.allocUnsafe(Math.max(minSize, begin.length + expected));
    this.buffer.set(begin);
    this.at = begin.length;
  }

  /** All that was written; a view. */
  get written(): Buffer {
    return this.buffer.subarray(0, this.at);
  }

  bytes(value: Uint8Array): void {
    this.length(value.length);
    this.put(value);
  }

  /** @param digits hexadecimal digits of bytes */
  hex(digits: string): void {
    this.length(digits.length / 2);
    this.at += this.buffer.write(digits, this.at, 'hex');
  }

  /** Integers of 53 bits at most. */
  bigint(value: number): void {
    this.length(8);
    const upper = Math.floor(value / upperHalf);
    this.halves(upper, value - upper * upperHalf);
  }

  integer(value: number | null): void {
    if (value === null) return this.length(-1);
    this.length(4);
    this.at = this.buffer.writeInt32BE(value, this.at);
  }

  smallint(value: number): void {
    this.length(2);
    this.at = this.buffer.writeInt16BE(value, this.at);
  }

  boolean(value: boolean): void {
    this.length(1);
    this.buffer[this.at++] = value ? 1 : 0;
  }

  timestamp(value: Date): void {
    this.length(8);
    // Microseconds of the year 9999 are more than 53 bits: multiplied by halves.
    const ms = value.getTime() - epochMs;
    const upper = Math.floor(ms / upperHalf);
    const lower = (ms - upper * upperHalf) * 1_000;
    const carried = Math.floor(lower / upperHalf);
    this.halves(upper * 1_000 + carried, lower - carried * upperHalf);
  }

  /** text[] */
  texts(values: readonly string[]): void {
    this.length(0);
    const begin = this.at;
    this.raw(arrayHead(typeIds.text, values.length));
    for (const value of values) this.text(value);
    this.buffer.writeInt32BE(this.at - begin, begin - 4);
  }

  /** Without a length. */
  protected raw(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.put(bytes);
  }

  /** Writes or moves what was written before. */
  protected get room(): Buffer {
    return this.buffer;
  }

  private put(bytes: Uint8Array): void {
    const { buffer, at } = this;
    const { length } = bytes;
    if (length > loopedBytes) buffer.set(bytes, at);
    else for (let nth = 0; nth < length; nth += 1) buffer[at + nth] = bytes[nth] ?? 0;
    this.at = at + length;
  }

  private text(value: string): void {
    // Three bytes for each unit of UTF-16 at most.
    this.reserve(4 + 3 * value.length);
    const written = this.buffer.write(value, this.at + 4);
    this.buffer.writeInt32BE(written, this.at);
    this.at += 4 + written;
  }

  private halves(upper: number, lower: number): void {
    this.at = this.buffer.writeInt32BE(upper, this.at);
    this.at = this.buffer.writeUInt32BE(lower, this.at);
  }

  /** @param bytes of the value; -1: NULL */
  private length(bytes: number): void {
    this.reserve(4 + Math.max(0, bytes));
    this.at = this.buffer.writeInt32BE(bytes, this.at);
  }

  private reserve(bytes: number): void {
    if (this.at + bytes <= this.buffer.length) return;
    const { length } = this.buffer;
    const larger = Buffer.allocUnsafe(Math.max(Math.min(2 * length, length + maxGrowth), this.at + bytes));
    this.buffer.copy(larger, 0, 0, this.at);
    this.buffer = larger;
  }
}

/** Header of an array of one dimension. */
function arrayHead(typeId: number, length: number): Buffer {
  const dimensions = length === 0 ? [] : [length, 1];
  const head = Buffer.alloc(12 + 4 * dimensions.length);
  head.writeInt32BE(length === 0 ? 0 : 1, 0);
  head.writeInt32BE(typeId, 8);
  dimensions.forEach((value, nth) => head.writeInt32BE(value, 12 + 4 * nth));
  return head;
}

/** Of an element of an array, with its length: most are short. */
const usualElement = 24;

/** A parameter that is an array: a Buffer is bound in binary form, and the statement says of which type it is. */
export function binaryArray<T>(
  type: keyof typeof typeIds,
  elements: readonly T[],
  write: (values: BinaryValues, element: T) => void,
): Buffer {
  const values = new BinaryValues(arrayHead(typeIds[type], elements.length), elements.length * usualElement);
  for (const element of elements) write(values, element);
  return values.written;
}
