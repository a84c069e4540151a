import { createGunzip } from 'node:zlib';
import { ResponseTooLong, LogUnavailable } from './log-faults';

/** Unpacks gzip as it arrives: one chunk at a time is buffered. */
export class Unpacking {
  private readonly gunzip = createGunzip();
  private readonly failed: Promise<never>;
  private bytes = 0;

  /** @param maxBytes unpacked */
  constructor(
    private readonly take: (piece: Buffer) => void,
    private readonly maxBytes: number,
  ) {
    const { gunzip } = this;
    this.failed = new Promise((_, reject) => gunzip.once('error', (error) => reject(unpackingFault(error))));
    // Handled with each chunk.
    this.failed.catch(() => undefined);
    gunzip.on('data', (piece: Buffer) => this.unpacked(piece));
  }

  /** Resolves when the chunk is unpacked. @throws LogUnavailable; errors of `take` */
  async write(piece: Buffer): Promise<void> {
    const written = new Promise<void>((resolve) => void this.gunzip.write(piece, () => resolve()));
    await Promise.race([this.failed, written]);
    // A callback may precede the error of the same chunk.
    if (this.gunzip.destroyed) await this.failed;
  }

  /** Resolves when all data was consumed. @throws as `write` */
  async end(): Promise<void> {
    const ended = new Promise<void>((resolve) => void this.gunzip.once('end', resolve));
    this.gunzip.end();
    await Promise.race([this.failed, ended]);
  }

  /** Must be called to free the memory promptly. */
  close(): void {
    this.gunzip.destroy();
  }

  private unpacked(piece: Buffer): void {
    if (this.gunzip.destroyed) return;
    try {
      this.bytes += piece.length;
      if (this.bytes > this.maxBytes) throw new ResponseTooLong('A response unpacks to more than is read.');
      this.take(piece);
    } catch (error) {
      this.gunzip.destroy(error as Error);
    }
  }
}

function unpackingFault(error: Error): Error {
  const isOfZlib = String((error as NodeJS.ErrnoException).code).startsWith('Z_');
  return isOfZlib ? new LogUnavailable('A response of the log cannot be unpacked.') : error;
}
