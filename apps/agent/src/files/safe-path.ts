import path from 'node:path';
import type { Files } from './files';

/** `uid` and `gid` of the agent itself. */
export interface Owner {
  readonly uid: number;
}

const sticky = 0o1000;
const writableByOthers = 0o022;

/**
 * Why other users could change what is at this path; null when they cannot. Each folder above it belongs to root or the
 * agent's user, no other user may write to it, and none is a link. A folder with the sticky bit, such as /tmp, may be
 * above the last folder: in it, only the owner can replace what exists.
 */
export function unsafeFolder(files: Files, folder: string, { uid }: Owner): string | null {
  const parts = folder.split('/').filter((part) => part !== '');
  const chain = ['/', ...parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`)];
  for (const each of chain) {
    const state = files.state(each);
    if (state === null) return `the folder ${each} does not exist; create it`;
    if (state.kind === 'link')
      return `${each} is a symbolic link, which the agent does not follow; use the real path`;
    if (state.kind !== 'folder') return `${each} is not a folder; correct the path`;
    if (state.uid !== 0 && state.uid !== uid)
      return `the folder ${each} belongs to user ${state.uid}; change its owner to root`;
    const isSticky = (state.mode & sticky) !== 0 && each !== folder;
    if ((state.mode & writableByOthers) !== 0 && !isSticky)
      return `other users may write to the folder ${each} (mode ${octal(state.mode)}); run chmod go-w ${each}`;
  }
  return null;
}

/** As `unsafeFolder`, for a file that exists and is read. */
export function unsafeFile(files: Files, file: string, owner: Owner): string | null {
  const folder = unsafeFolder(files, path.dirname(file), owner);
  if (folder !== null) return folder;
  const state = files.state(file);
  if (state === null) return 'there is no such file; create it';
  if (state.kind === 'link') return 'is a symbolic link, which the agent does not follow; use the real path';
  if (state.kind !== 'file') return 'is not a regular file; use another path';
  if (state.uid !== 0 && state.uid !== owner.uid)
    return `belongs to user ${state.uid}; change its owner to root`;
  if ((state.mode & writableByOthers) !== 0)
    return `other users may write to it (mode ${octal(state.mode)}); run chmod go-w ${file}`;
  return null;
}

const octal = (mode: number): string => mode.toString(8).padStart(4, '0');
