import { createGunzip } from 'node:zlib';
import { AnswerTooLong, LogUnavailable } from './log-faults';

/** Unpacks gzip as it comes: one piece at a time is held. */
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
    // Looked at with each piece.
    this.failed.catch(() => undefined);
    gunzip.on('data', (piece: Buffer) => this.unpacked(piece));
  }

  /** Resolves when the piece is unpacked. @throws LogUnavailable; what `take` throws */
  async write(piece: Buffer): Promise<void> {
    const written = new Promise<void>((resolve) => void this.gunzip.write(piece, () => resolve()));
    await Promise.race([this.failed, written]);
    // A callback that comes before the error of the same piece.
    if (this.gunzip.destroyed) await this.failed;
  }

  /** Resolves when all of it was taken. @throws as `write` */
  async end(): Promise<void> {
    const ended = new Promise<void>((resolve) => void this.gunzip.once('end', resolve));
    this.gunzip.end();
    await Promise.race([this.failed, ended]);
  }

  /** Must be called, or its memory is held for a while. */
  close(): void {
    this.gunzip.destroy();
  }

  private unpacked(piece: Buffer): void {
    if (this.gunzip.destroyed) return;
    try {
      this.bytes += piece.length;
      if (this.bytes > this.maxBytes) throw new AnswerTooLong('An answer unpacks to more than is read.');
      this.take(piece);
    } catch (error) {
      this.gunzip.destroy(error as Error);
    }
  }
}

function unpackingFault(error: Error): Error {
  const isOfZlib = String((error as NodeJS.ErrnoException).code).startsWith('Z_');
  return isOfZlib ? new LogUnavailable('An answer of the log cannot be unpacked.') : error;
}
