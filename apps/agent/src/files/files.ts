/** Owner, group and permissions of a new file. */
export interface Access {
  readonly mode: number;
  /** Omitted: those of the process. */
  readonly uid?: number;
  readonly gid?: number;
}

export interface FileState {
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  readonly uid: number;
  readonly gid: number;
  /** Permission bits, with set-id and sticky. */
  readonly mode: number;
  readonly bytes: number;
}

/**
 * Everything that the agent does with files, one system call each, so that a spec can stop after every one. Paths are
 * absolute. Errors are those of `node:fs`, with `code`. Nothing is durable before `sync` (content) and `syncFolder` (names).
 */
export interface Files {
  /** @throws Error EFBIG when the file is larger */
  read(path: string, maxBytes: number): Buffer;
  /** A new file. @throws Error EEXIST also for a link */
  create(path: string, content: Uint8Array, access: Access): void;
  sync(path: string): void;
  syncFolder(path: string): void;
  /** Replaces `to` at once; both in one file system. */
  rename(from: string, to: string): void;
  /** A symbolic link. */
  link(target: string, path: string): void;
  makeFolder(path: string, mode: number): void;
  setMode(path: string, mode: number): void;
  remove(path: string): void;
  removeFolder(path: string): void;
  list(path: string): string[];
  /** Of the file itself, not of what a link leads to; null when there is none. */
  state(path: string): FileState | null;
  readLink(path: string): string;
}
