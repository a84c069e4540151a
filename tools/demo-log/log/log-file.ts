import { readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { syncFolder } from './whole-file';

/** The first bytes of every log file. */
const head = Buffer.from('certwright-demo-log-1\n', 'latin1');

/** Before each body: its length and its CRC-32, both uint32. */
const frameBytes = 8;

/** No submission is longer, so a greater length is invalid. */
const maxBodyBytes = 4 * 2 ** 20;

/** Bytes read at once when the file is opened. */
const windowBytes = 4 * 2 ** 20;

export interface FoundRecord {
  /** Position of the body in the file. */
  readonly at: number;
  readonly body: Buffer;
}

/** The file is not a log file, or was changed in a way that no crash causes. */
export class LogFileFault extends Error {}

/**
 * An append-only file of records, each with its length and checksum. When `append` resolves, its records are on the
 * disk. After a crash the file may end with incomplete records, for which no SCT was returned. They are removed
 * before anything is appended.
 */
export class LogFile {
  /** After a failed write the state of the disk is unknown until the file is opened again. */
  private failed = false;

  private constructor(
    private readonly handle: FileHandle,
    private end: number,
    /** Length of the incomplete records at the end. */
    readonly cutBytes: number,
  ) {}

  /** @param found called with every record in order; a body is a view that it must not keep */
  static async open(file: string, found: (record: FoundRecord) => void): Promise<LogFile> {
    const handle = await open(file, 'a+', 0o600);
    await handle.close();
    // Not in append mode, which ignores the position of a write.
    const writable = await open(file, 'r+');
    try {
      const { size } = await writable.stat();
      const end = await prepareHead(writable, file, size);
      const kept = replay(writable.fd, end, found);
      return new LogFile(writable, kept, Math.max(size, end) - kept);
    } catch (error) {
      await writable.close();
      throw error;
    }
  }

  /** To be called only when no SCT was returned for the removed records: complete ones may follow a damaged one. */
  async cutOff(): Promise<void> {
    if (this.cutBytes === 0) return;
    await this.handle.truncate(this.end);
    await this.handle.sync();
  }

  /** @returns the position of each body, when all are durable; one call at a time */
  async append(bodies: readonly Uint8Array[]): Promise<number[]> {
    if (this.failed)
      throw new LogFileFault(
        'An earlier write failed; the log accepts no submissions until it is restarted.',
      );
    const start = this.end;
    const places: number[] = [];
    let at = start;
    for (const body of bodies) {
      if (body.length === 0 || body.length > maxBodyBytes)
        throw new RangeError('a record is empty or too long');
      places.push(at + frameBytes);
      at += frameBytes + body.length;
    }
    try {
      await writeAll(this.handle, Buffer.concat(bodies.flatMap((body) => [frameOf(body), body])), start);
      await this.handle.datasync();
    } catch (error) {
      this.failed = true;
      throw error;
    }
    this.end = at;
    return places;
  }

  async read(at: number, length: number): Promise<Buffer> {
    const bytes = Buffer.alloc(length);
    for (let read = 0; read < length;) {
      const { bytesRead } = await this.handle.read(bytes, read, length - read, at + read);
      if (bytesRead === 0) throw new LogFileFault('The log file was truncated by another program.');
      read += bytesRead;
    }
    return bytes;
  }

  async close(): Promise<void> {
    await this.handle.close();
  }
}

/** Writes the head of a new file. @returns where the records begin */
async function prepareHead(handle: FileHandle, file: string, size: number): Promise<number> {
  const found = Buffer.alloc(Math.min(size, head.length));
  await handle.read(found, 0, found.length, 0);
  if (!found.equals(head.subarray(0, found.length)))
    throw new LogFileFault(`${file} is not a file of a demo log.`);
  if (found.length < head.length) {
    await writeAll(handle, head, 0);
    await handle.sync();
    await syncFolder(path.dirname(file));
  }
  return head.length;
}

/** @returns the end of the last complete record */
function replay(fd: number, start: number, found: (record: FoundRecord) => void): number {
  const read = windowOn(fd);
  for (let at = start; ;) {
    const frame = read(at, frameBytes);
    if (frame.length < frameBytes) return at;
    const length = frame.readUInt32BE(0);
    const checksum = frame.readUInt32BE(4);
    if (length === 0 || length > maxBodyBytes) return at;
    const body = read(at + frameBytes, length);
    if (body.length < length || crc32(body) !== checksum) return at;
    found({ at: at + frameBytes, body });
    at += frameBytes + length;
  }
}

/** Reads the file from the beginning to the end in large pieces. */
function windowOn(fd: number): (at: number, length: number) => Buffer {
  let window = Buffer.alloc(0);
  let windowAt = 0;
  return (at, length) => {
    if (at < windowAt || at + length > windowAt + window.length) {
      const bytes = Buffer.alloc(Math.max(length, windowBytes));
      window = bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, at));
      windowAt = at;
    }
    return window.subarray(at - windowAt, at - windowAt + length);
  };
}

function frameOf(body: Uint8Array): Buffer {
  const frame = Buffer.alloc(frameBytes);
  frame.writeUInt32BE(body.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return frame;
}

async function writeAll(handle: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, at + written);
    written += bytesWritten;
  }
}
