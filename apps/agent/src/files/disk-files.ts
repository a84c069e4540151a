import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import type { Access, Files, FileState } from './files';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** The files of the host. */
export class DiskFiles implements Files {
  read(path: string, maxBytes: number): Buffer {
    // Without O_NONBLOCK, opening a pipe waits for its writer.
    return opened(path, O_RDONLY | O_NONBLOCK, (fd) => {
      const state = fstatSync(fd);
      if (!state.isFile()) throw fault('EINVAL', 'not a regular file', path);
      // One byte more than expected, to notice the end; files of /proc have no size.
      const content = Buffer.alloc(Math.min(Math.max(state.size, 4096), maxBytes) + 1);
      let length = 0;
      for (let read = -1; read !== 0 && length < content.length; length += read)
        read = readSync(fd, content, length, content.length - length, null);
      if (length > maxBytes) throw fault('EFBIG', `larger than ${maxBytes} bytes`, path);
      if (length === content.length) throw fault('EBUSY', 'it grows while it is read', path);
      return Buffer.from(content.subarray(0, length));
    });
  }

  create(path: string, content: Uint8Array, { mode, uid, gid }: Access): void {
    // No other user can open it before owner and group are set.
    const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      for (let at = 0; at < content.length;) at += writeSync(fd, content, at);
      if (uid !== undefined || gid !== undefined) {
        const own = fstatSync(fd);
        fchownSync(fd, uid ?? own.uid, gid ?? own.gid);
      }
      fchmodSync(fd, mode);
    } finally {
      closeSync(fd);
    }
  }

  sync(path: string): void {
    opened(path, O_RDONLY | O_NOFOLLOW, fsyncSync);
  }

  syncFolder(path: string): void {
    opened(path, O_RDONLY | O_DIRECTORY, fsyncSync);
  }

  rename(from: string, to: string): void {
    renameSync(from, to);
  }

  link(target: string, path: string): void {
    symlinkSync(target, path);
  }

  makeFolder(path: string, mode: number): void {
    mkdirSync(path, { mode });
  }

  setMode(path: string, mode: number): void {
    chmodSync(path, mode);
  }

  remove(path: string): void {
    unlinkSync(path);
  }

  removeFolder(path: string): void {
    rmdirSync(path);
  }

  list(path: string): string[] {
    return readdirSync(path).sort();
  }

  state(path: string): FileState | null {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return null;
    const kind = found.isFile()
      ? 'file'
      : found.isDirectory()
        ? 'folder'
        : found.isSymbolicLink()
          ? 'link'
          : 'other';
    return { kind, uid: found.uid, gid: found.gid, mode: found.mode & 0o7777, bytes: found.size };
  }

  readLink(path: string): string {
    return readlinkSync(path);
  }
}

function opened<T>(path: string, flags: number, use: (fd: number) => T): T {
  const fd = openSync(path, flags);
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

const fault = (code: string, text: string, path: string): Error =>
  Object.assign(new Error(`${code}: ${text}, '${path}'`), { code, path });
