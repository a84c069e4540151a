import type { Socket } from 'node:net';
import { ProbeError } from './probe-error';

/** Bytes of one line. RFC 5321 allows 512, RFC 9051 recommends 8,192. */
const maxLineBytes = 8192;
/** Bytes of everything before TLS begins. */
const maxBytes = 65_536;

/** What client and server say before TLS begins, bounded. */
export class PlainDialogue {
  private received = Buffer.alloc(0);
  private receivedBytes = 0;
  private failure: Error | undefined;
  private wake: () => void = () => undefined;

  constructor(private readonly socket: Socket) {
    socket.on('data', this.onData);
    for (const event of ['end', 'close']) {
      socket.on(event, () => this.fail(new ProbeError('the server closed the connection before TLS began')));
    }
    socket.on('error', (error) => this.fail(error));
  }

  get localAddress(): string {
    return this.socket.localAddress ?? '127.0.0.1';
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /** Without its line end. Bare line feeds are accepted. */
  async line(): Promise<string> {
    for (;;) {
      const end = this.received.indexOf(0x0a);
      if (end > maxLineBytes || (end < 0 && this.received.length > maxLineBytes)) {
        throw new ProbeError(`the server sent a line of more than ${maxLineBytes} bytes`);
      }
      if (end >= 0)
        return this.take(end + 1)
          .toString('latin1')
          .replace(/\r?\n$/, '');
      await this.more();
    }
  }

  async byte(): Promise<number> {
    while (this.received.length === 0) await this.more();
    return this.take(1)[0] ?? 0;
  }

  /**
   * Before TLS takes the socket over. Bytes that were sent ahead could come from somebody in between, and the server
   * would have sent them to every client (CVE-2011-0411, CVE-2021-23222).
   */
  end(): void {
    if (this.received.length > 0) throw new ProbeError('the server sent data ahead of the TLS handshake');
    this.socket.off('data', this.onData).pause();
  }

  private readonly onData = (bytes: Buffer): void => {
    this.receivedBytes += bytes.length;
    this.received = Buffer.concat([this.received, bytes]);
    if (this.receivedBytes > maxBytes) {
      this.socket.pause();
      this.fail(new ProbeError(`the server sent more than ${maxBytes} bytes before TLS began`));
    }
    this.wake();
  };

  private take(length: number): Buffer {
    const taken = this.received.subarray(0, length);
    this.received = this.received.subarray(length);
    return taken;
  }

  private async more(): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    await new Promise<void>((resolve) => (this.wake = resolve));
    // What arrived together with the end of the connection is read first.
    if (this.failure !== undefined && this.received.length === 0) throw this.failure;
  }

  private fail(error: Error): void {
    this.failure ??= error;
    this.wake();
  }
}
