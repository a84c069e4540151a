import { type FileHandle, mkdir, open, readdir, stat } from 'node:fs/promises';
import path from 'node:path';

/** A log file that is being written. */
export interface AuditFile {
  /** Rejects unless all bytes were written. */
  append(bytes: Buffer): Promise<void>;
  /** Resolves when all appended data is on disk (fdatasync) and the file's name still refers to this file. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Creates a file that must not exist. Resolves when its directory entry is on disk too. */
export type CreateAuditFile = (file: string) => Promise<AuditFile>;

/** Instances share a directory: `<instance>.<number>.jsonl`. Names sort in the order of the chain. */
export function auditFileName(instance: string, number: number): string {
  return `${instance}.${String(number).padStart(8, '0')}.jsonl`;
}

/** The instance's files, oldest first. */
export async function auditFiles(
  folder: string,
  instance: string,
): Promise<readonly { readonly number: number; readonly file: string }[]> {
  const prefix = `${instance}.`;
  const names = await readdir(folder);
  return names
    .filter((name) => name.startsWith(prefix) && /^\d{8}\.jsonl$/.test(name.slice(prefix.length)))
    .sort()
    .map((name) => ({
      number: Number(name.slice(prefix.length, prefix.length + 8)),
      file: path.join(folder, name),
    }));
}

export async function makeFolder(folder: string): Promise<void> {
  const made = await mkdir(folder, { recursive: true, mode: 0o700 });
  // The topmost created directory has its entry in its parent.
  if (made !== undefined) await syncFolder(path.dirname(made));
}

/** A directory entry is on disk only after the directory itself is synced. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** O_APPEND with O_EXCL, mode 0600: two processes never write into one file. */
export const createAuditFile: CreateAuditFile = async (file) => {
  const handle = await open(file, 'ax', 0o600);
  try {
    await syncFolder(path.dirname(file));
  } catch (error) {
    await handle.close();
    throw error;
  }
  let appended = 0;
  return {
    append: async (bytes) => {
      await appendAll(handle, bytes);
      appended += bytes.length;
    },
    sync: async () => void (await Promise.all([handle.datasync(), assertInPlace(file, handle, appended)])),
    close: async () => await handle.close(),
  };
};

/** Data written to a file that was moved, deleted or truncated is lost although no write fails. */
async function assertInPlace(file: string, handle: FileHandle, bytes: number): Promise<void> {
  const [named, own] = await Promise.all([stat(file), handle.stat()]);
  if (named.ino !== own.ino || named.dev !== own.dev) throw new Error('its newest file was replaced');
  if (own.size !== bytes) throw new Error('its newest file was changed by somebody else');
}

/** Ends the torn last line of a file that is not written otherwise any more. */
export async function appendNewline(file: string): Promise<void> {
  const handle = await open(file, 'a');
  try {
    await appendAll(handle, Buffer.from('\n'));
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/** A full disk accepts some of the bytes and fails only at the next write. */
async function appendAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, written);
    if (bytesWritten === 0) throw new Error('The disk took none of the bytes.');
    written += bytesWritten;
  }
}
