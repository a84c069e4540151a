import { createHash } from 'node:crypto';
import { Pieces } from '@certwright/outbound';
import { LogUnavailable } from './log-faults';

const backslash = '\\'.charCodeAt(0);
/** Characters per base64 group. */
const group = 4;

/** Receives consecutive bytes. */
export interface ByteSink {
  take(bytes: Buffer): void;
}

/** Decodes the base64 of a JSON string as it arrives. Invalid base64 is kept as it is, and marked. */
export class Base64Text {
  isMalformed = false;
  /** Characters of an incomplete group. */
  private rest = '';
  /** The beginning of an escape sequence. */
  private escape = '';
  private isPadded = false;

  constructor(private readonly sink: ByteSink) {}

  /** @param characters inside the string @throws LogUnavailable for an invalid JSON escape */
  take(characters: Buffer): void {
    let text = characters.toString('latin1');
    if (this.escape !== '' || characters.includes(backslash)) text = this.unescaped(text);
    text = this.rest + text;
    const end = text.length - (text.length % group);
    this.rest = text.slice(end);
    if (end > 0) this.decode(end === text.length ? text : text.slice(0, end));
  }

  end(): void {
    if (this.rest === '' && this.escape === '') return;
    this.isMalformed = true;
    this.sink.take(Buffer.from(this.rest, 'base64'));
  }

  private decode(text: string): void {
    const bytes = Buffer.from(text, 'base64');
    const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
    // Buffer skips invalid characters, and accepts the URL alphabet and non-zero trailing bits (RFC 4648, section 3.5).
    const isWhole = bytes.length === (text.length / group) * 3 - padding;
    const isExact =
      padding === 0 || bytes.toString('base64', bytes.length - (3 - padding)) === text.slice(-group);
    if (this.isPadded || !isWhole || !isExact || text.includes('-') || text.includes('_'))
      this.isMalformed = true;
    if (padding > 0) this.isPadded = true;
    this.sink.take(bytes);
  }

  private unescaped(text: string): string {
    const whole = this.escape + text;
    const [cut = ''] = /\\(?:u[0-9a-fA-F]{0,3})?$/.exec(whole.replace(/\\\\/g, '  ')) ?? [];
    this.escape = cut;
    const json = `"${whole.slice(0, whole.length - cut.length)}"`;
    try {
      return JSON.parse(json) as string;
    } catch {
      throw new LogUnavailable('The log returned something that is not JSON.');
    }
  }
}

/** Keeps bytes up to a limit; beyond it, none or the first ones. */
export class KeptBytes implements ByteSink {
  length = 0;
  private readonly pieces = new Pieces();

  /**
   * @param maxKept max bytes that are kept in full
   * @param max max bytes
   * @param beginning number of first bytes that are kept of more than `maxKept`
   */
  constructor(
    private maxKept: number,
    private max: number,
    private readonly beginning: number,
  ) {}

  /** @throws LogUnavailable for more than `max` bytes */
  take(bytes: Buffer): void {
    this.length += bytes.length;
    if (this.length > this.max) throw new LogUnavailable('An entry of the log exceeds the maximum length.');
    if (!this.isTooLong || this.kept < this.beginning) this.pieces.push(bytes);
    if (this.isTooLong) this.cut();
  }

  /** At most this many bytes follow. */
  limitTo(bytes: number): void {
    this.max = Math.min(this.max, bytes);
  }

  /** Bytes of memory. */
  get kept(): number {
    return this.pieces.length;
  }

  /** More bytes than are kept have arrived, or will. */
  get isTooLong(): boolean {
    return this.length > this.maxKept;
  }

  /** More bytes than are kept will arrive. */
  willBeTooLong(): void {
    this.maxKept = 0;
    this.cut();
  }

  /** All bytes, or the first ones. */
  get bytes(): Buffer {
    const bytes = this.pieces.take();
    this.pieces.push(bytes);
    return bytes;
  }

  private cut(): void {
    if (this.kept > this.beginning)
      this.pieces.push(Buffer.from(this.pieces.take().subarray(0, this.beginning)));
  }
}

/** The hash of consecutive bytes after a prefix. */
export class HashedBytes implements ByteSink {
  private readonly hash = createHash('sha256');

  constructor(
    before: Uint8Array,
    private readonly next: ByteSink,
  ) {
    this.hash.update(before);
  }

  take(bytes: Buffer): void {
    this.hash.update(bytes);
    this.next.take(bytes);
  }

  digest(): Buffer {
    return this.hash.digest();
  }
}
