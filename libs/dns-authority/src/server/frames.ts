import { TCP_REQUEST_OCTETS } from './limits';

/**
 * What has arrived on a connection: messages with their length in two octets before them (RFC 1035 section 4.2.2).
 */
export class Frames {
  #buffered: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): void {
    this.#buffered = this.#buffered.length === 0 ? chunk : Buffer.concat([this.#buffered, chunk]);
  }

  /** The next whole message; `undefined` while it is not there; `'too long'` when it must not be waited for. */
  next(): Buffer | 'too long' | undefined {
    if (this.#buffered.length < 2) return undefined;
    const length = this.#buffered.readUInt16BE(0);
    if (length > TCP_REQUEST_OCTETS) return 'too long';
    if (this.#buffered.length < 2 + length) return undefined;
    const message = this.#buffered.subarray(2, 2 + length);
    this.#buffered = this.#buffered.subarray(2 + length);
    return message;
  }
}

export function framed(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(2 + message.length);
  frame.writeUInt16BE(message.length, 0);
  message.copy(frame, 2);
  return frame;
}
