import { withRoom } from './slot-table';

/** Unit of allocation, bytes. A free piece contains the position of the next one in its first four bytes. */
const unit = 4;

/** RFC 1035, section 2.3.4: a label has at most 63 bytes. */
const maxUnits = 16;

/** Labels in ASCII, in one array. Released pieces are used again for labels of about the same length. */
export class LabelPool {
  private bytes = new Uint8Array(1_024);
  /** Position 0 means "none". */
  private end = unit;
  private readonly free = new Int32Array(maxUnits + 1);

  /** Stores `text` from `start` to `end`. @returns its position */
  store(text: string, start: number, end: number): number {
    const position = this.allocate(Math.ceil((end - start) / unit));
    for (let at = start; at < end; at += 1) this.bytes[position + at - start] = text.charCodeAt(at);
    return position;
  }

  release(position: number, length: number): void {
    const units = Math.ceil(length / unit);
    new DataView(this.bytes.buffer).setInt32(position, this.free[units] ?? 0);
    this.free[units] = position;
  }

  private allocate(units: number): number {
    const released = this.free[units] ?? 0;
    if (released !== 0) {
      this.free[units] = new DataView(this.bytes.buffer).getInt32(released);
      return released;
    }
    const position = this.end;
    this.end += units * unit;
    this.bytes = withRoom(this.bytes, this.end);
    return position;
  }

  /** Whether the label at `position` is `text` from `start` to `end`; the lengths are equal. */
  equals(position: number, text: string, start: number, end: number): boolean {
    const { bytes } = this;
    for (let at = start; at < end; at += 1) {
      if (bytes[position + at - start] !== text.charCodeAt(at)) return false;
    }
    return true;
  }

  /** @returns the offset in `target` after the label */
  copy(position: number, length: number, target: Uint8Array, offset: number): number {
    for (let at = 0; at < length; at += 1) target[offset + at] = this.bytes[position + at] ?? 0;
    return offset + length;
  }

  /**
   * Whether `pattern` from `start` to `end` matches the label, with each asterisk for any characters or none. A label
   * has no dot, so a pattern of only an asterisk matches each.
   */
  matches(position: number, length: number, pattern: string, start: number, end: number): boolean {
    const { bytes } = this;
    const labelEnd = position + length;
    let [label, at] = [position, start];
    // Where to continue after a mismatch: behind the last asterisk, with one more character for it.
    let [retryLabel, retryAt] = [-1, -1];
    while (label < labelEnd) {
      if (at < end && pattern.charCodeAt(at) === asterisk) {
        at += 1;
        [retryLabel, retryAt] = [label, at];
      } else if (at < end && pattern.charCodeAt(at) === bytes[label]) {
        at += 1;
        label += 1;
      } else if (retryAt >= 0) {
        retryLabel += 1;
        [label, at] = [retryLabel, retryAt];
      } else return false;
    }
    while (at < end && pattern.charCodeAt(at) === asterisk) at += 1;
    return at === end;
  }
}

const asterisk = 0x2a;
