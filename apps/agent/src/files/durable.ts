import path from 'node:path';
import type { Access, Files } from './files';

/** Only for the agent's user: state, keys. */
export const secret: Access = { mode: 0o600 };

/** Writes the new content beside the file and renames it: a reader sees the old content or the new one, also after a crash. */
export function replaceFile(files: Files, file: string, content: Uint8Array, access: Access): void {
  const folder = path.dirname(file);
  const beside = path.join(folder, `.${path.basename(file)}.certwright-new`);
  // Of an earlier run that was interrupted.
  if (files.state(beside) !== null) files.remove(beside);
  try {
    files.create(beside, content, access);
    files.sync(beside);
    files.rename(beside, file);
  } catch (error) {
    removeQuietly(files, beside);
    throw error;
  }
  files.syncFolder(folder);
}

/** As `replaceFile`, for a link. */
export function replaceLink(files: Files, link: string, target: string): void {
  const folder = path.dirname(link);
  const beside = path.join(folder, `.${path.basename(link)}.certwright-new`);
  if (files.state(beside) !== null) files.remove(beside);
  try {
    files.link(target, beside);
    files.rename(beside, link);
  } catch (error) {
    removeQuietly(files, beside);
    throw error;
  }
  files.syncFolder(folder);
}

/** Creates the folder and those above it that are missing, each durable before the next. */
export function ensureFolder(files: Files, folder: string, mode = 0o700): void {
  if (files.state(folder)?.kind === 'folder') return;
  const parent = path.dirname(folder);
  ensureFolder(files, parent, 0o755);
  files.makeFolder(folder, mode);
  files.syncFolder(parent);
}

/** Removes a folder with everything in it. Links are removed, not followed. */
export function removeTree(files: Files, folder: string): void {
  for (const name of files.list(folder)) {
    const each = path.join(folder, name);
    if (files.state(each)?.kind === 'folder') removeTree(files, each);
    else files.remove(each);
  }
  files.removeFolder(folder);
}

/** The error that led here is the one to report; what is left is removed the next time. */
function removeQuietly(files: Files, file: string): void {
  try {
    files.remove(file);
  } catch {
    // It was not created, or the disk refuses everything.
  }
}

export const errorCode = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** What an error of the disk means, and what to do. */
export function fileFault(error: unknown): string {
  const { code, path: place, dest, message } = error as NodeJS.ErrnoException & { readonly dest?: string };
  const where = dest ?? place ?? '';
  const known = code === undefined ? undefined : meanings[code];
  return known === undefined ? message : `${where}: ${known} (${code})`;
}

const meanings: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full; free space or inodes on it',
  EDQUOT: 'the disk quota is used up; raise it or free space',
  EROFS: 'the file system is read-only; mount it for writing',
  EACCES: 'permission denied; run the agent as a user that may write there, or correct the permissions',
  EPERM: 'not permitted; check owner, attributes (lsattr) and the restrictions of the systemd unit',
  EXDEV: 'the file is on another file system than its folder; mount the folder, not the file',
  EBUSY: 'the file is a mount point of its own; mount its folder instead',
  ENOENT: 'no such file or folder; create it',
  ENOTDIR: 'a part of the path is not a folder; correct the path',
  ELOOP: 'is a symbolic link, which the agent does not follow; use the real path',
  EEXIST: 'exists already; remove it',
  EISDIR: 'is a folder; name a file',
  EIO: 'the disk reports an error; check it',
  EFBIG: 'the file is too large; check that it is the right one',
};
