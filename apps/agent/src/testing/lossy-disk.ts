import path from 'node:path';
import type { Access, Files, FileState } from '../files/files';

interface Inode {
  readonly kind: 'file' | 'folder' | 'link';
  uid: number;
  gid: number;
  mode: number;
  content: Buffer;
  /** What a power failure leaves; null: nothing was synced. */
  durable: Buffer | null;
  readonly target: string;
  readonly entries: Map<string, Inode>;
  /** Names that survive a power failure, and changes since, in their order. */
  durableEntries: Map<string, Inode>;
  pending: ((entries: Map<string, Inode>) => void)[];
}

function inode(kind: Inode['kind'], mode: number, parts: Partial<Inode> = {}): Inode {
  return {
    kind,
    uid: 0,
    gid: 0,
    mode,
    content: Buffer.alloc(0),
    durable: null,
    target: '',
    entries: new Map(),
    durableEntries: new Map(),
    pending: [],
    ...parts,
  };
}

export interface Injected {
  readonly code: string;
  /** Only for paths that match. */
  readonly at: RegExp;
  /** Omitted: every changing call. */
  readonly calls?: readonly (keyof Files)[];
}

/** The machine stops: nothing after this call happens. */
export class Crash extends Error {}

const changing: ReadonlySet<string> = new Set<keyof Files>([
  'create',
  'sync',
  'syncFolder',
  'rename',
  'link',
  'makeFolder',
  'setMode',
  'remove',
  'removeFolder',
]);

/**
 * A file system in memory that forgets what was not synced, stops after any call, and fails on demand. `onCall` runs after
 * each change, as a reader that never pauses.
 */
export class LossyDisk implements Files {
  private root = inode('folder', 0o755);
  /** Changing calls so far. */
  calls = 0;
  /** The call after which it stops; for a rename, power can fail before or after. */
  crashAfter = Infinity;
  injected: readonly Injected[] = [];
  onCall: () => void = () => undefined;
  readonly trace: string[] = [];
  isStopped = false;

  constructor(folders: readonly string[] = []) {
    for (const folder of folders) this.makeFolders(folder);
  }

  /** Durable, for what is there before the agent. */
  makeFolders(folder: string, { mode = 0o755, uid = 0 } = {}): void {
    let place = this.root;
    for (const part of parts(folder)) {
      const next = place.entries.get(part) ?? inode('folder', 0o755, { uid: 0 });
      place.entries.set(part, next);
      place.durableEntries.set(part, next);
      place = next;
    }
    place.mode = mode;
    place.uid = uid;
  }

  put(file: string, text: string | Uint8Array, { mode = 0o644, uid = 0 } = {}): void {
    const content = Buffer.from(text as string);
    const folder = this.folderOf(file);
    const node = inode('file', mode, { content, durable: content, uid });
    folder.entries.set(path.basename(file), node);
    folder.durableEntries.set(path.basename(file), node);
  }

  putLink(file: string, target: string): void {
    const folder = this.folderOf(file);
    const node = inode('link', 0o777, { target });
    folder.entries.set(path.basename(file), node);
    folder.durableEntries.set(path.basename(file), node);
  }

  /** The machine runs again, after a power failure or a kill of the process. */
  restart(how: 'killed' | 'power_lost', random: () => number = () => 0): void {
    if (how === 'power_lost') this.loseUnsynced(this.root, random);
    this.isStopped = false;
    this.crashAfter = Infinity;
  }

  /** Reads as a server does: through links, and in one go. */
  readThrough(file: string): Buffer | null {
    let place = this.root;
    const todo = parts(file);
    for (let hops = 0; todo.length > 0 && hops < 100; hops++) {
      const part = todo.shift() ?? '';
      const next = place.entries.get(part);
      if (next === undefined) return null;
      if (next.kind === 'link') todo.unshift(...parts(next.target));
      else place = next;
    }
    return place.kind === 'file' ? place.content : null;
  }

  read(file: string, maxBytes: number): Buffer {
    this.check('read', file);
    const node = this.node(file);
    if (node.kind === 'link') return this.read(path.resolve(path.dirname(file), node.target), maxBytes);
    if (node.content.length > maxBytes) throw fault('EFBIG', file);
    return Buffer.from(node.content);
  }

  create(file: string, content: Uint8Array, { mode, uid = 0, gid = 0 }: Access): void {
    this.change('create', file, () => {
      const folder = this.folderOf(file);
      if (folder.entries.has(path.basename(file))) throw fault('EEXIST', file);
      const node = inode('file', mode, { content: Buffer.from(content), uid, gid });
      this.setEntry(folder, path.basename(file), node);
    });
  }

  sync(file: string): void {
    this.change('sync', file, () => {
      const node = this.node(file);
      node.durable = node.content;
    });
  }

  syncFolder(folder: string): void {
    this.change('syncFolder', folder, () => {
      const node = this.node(folder);
      node.durableEntries = new Map(node.entries);
      node.pending = [];
    });
  }

  rename(from: string, to: string): void {
    this.change('rename', to, () => {
      const node = this.node(from);
      const [source, target] = [this.folderOf(from), this.folderOf(to)];
      if (source !== target) throw fault('EXDEV', to);
      const change = (entries: Map<string, Inode>) => {
        entries.delete(path.basename(from));
        entries.set(path.basename(to), node);
      };
      change(source.entries);
      source.pending.push(change);
    });
  }

  link(target: string, file: string): void {
    this.change('link', file, () => {
      const folder = this.folderOf(file);
      if (folder.entries.has(path.basename(file))) throw fault('EEXIST', file);
      this.setEntry(folder, path.basename(file), inode('link', 0o777, { target }));
    });
  }

  makeFolder(folder: string, mode: number): void {
    this.change('makeFolder', folder, () => {
      const parent = this.folderOf(folder);
      if (parent.entries.has(path.basename(folder))) throw fault('EEXIST', folder);
      this.setEntry(parent, path.basename(folder), inode('folder', mode));
    });
  }

  setMode(file: string, mode: number): void {
    this.change('setMode', file, () => (this.node(file).mode = mode));
  }

  remove(file: string): void {
    this.change('remove', file, () => {
      const node = this.node(file);
      if (node.kind === 'folder') throw fault('EISDIR', file);
      this.deleteEntry(file);
    });
  }

  removeFolder(folder: string): void {
    this.change('removeFolder', folder, () => {
      if (this.node(folder).entries.size > 0) throw fault('ENOTEMPTY', folder);
      this.deleteEntry(folder);
    });
  }

  list(folder: string): string[] {
    this.check('list', folder);
    return [...this.node(folder).entries.keys()].sort();
  }

  state(file: string): FileState | null {
    this.check('state', file);
    const node = this.find(file);
    if (node === undefined) return null;
    const { kind, uid, gid, mode, content } = node;
    return { kind, uid, gid, mode, bytes: content.length };
  }

  readLink(file: string): string {
    this.check('readLink', file);
    return this.node(file).target;
  }

  private change(call: keyof Files, file: string, apply: () => void): void {
    this.check(call, file);
    apply();
    this.calls++;
    this.trace.push(`${call} ${file}`);
    this.onCall();
    if (this.calls >= this.crashAfter) {
      this.isStopped = true;
      throw new Crash(`after call ${this.calls}: ${call} ${file}`);
    }
  }

  private check(call: keyof Files, file: string): void {
    if (this.isStopped) throw new Crash('the machine has stopped');
    for (const { code, at, calls } of this.injected) {
      const applies = calls === undefined ? changing.has(call) : calls.includes(call);
      if (applies && at.test(file)) throw fault(code, file);
    }
  }

  /** Each folder keeps a prefix of its changes, each file its synced content, or else a part of it. */
  private loseUnsynced(node: Inode, random: () => number): void {
    if (node.kind === 'file') {
      const kept = node.durable ?? node.content.subarray(0, Math.floor(random() * (node.content.length + 1)));
      node.content = Buffer.from(kept);
      node.durable = node.content;
    }
    if (node.kind !== 'folder') return;
    const kept = new Map(node.durableEntries);
    const survive = Math.floor(random() * (node.pending.length + 1));
    for (const change of node.pending.slice(0, survive)) change(kept);
    node.entries.clear();
    for (const [name, each] of kept) {
      node.entries.set(name, each);
      this.loseUnsynced(each, random);
    }
    node.durableEntries = kept;
    node.pending = [];
  }

  private setEntry(folder: Inode, name: string, node: Inode): void {
    folder.entries.set(name, node);
    folder.pending.push((entries) => entries.set(name, node));
  }

  private deleteEntry(file: string): void {
    const folder = this.folderOf(file);
    folder.entries.delete(path.basename(file));
    folder.pending.push((entries) => entries.delete(path.basename(file)));
  }

  private node(file: string): Inode {
    const found = this.find(file);
    if (found === undefined) throw fault('ENOENT', file);
    return found;
  }

  private folderOf(file: string): Inode {
    const folder = this.node(path.dirname(file));
    if (folder.kind !== 'folder') throw fault('ENOTDIR', file);
    return folder;
  }

  /** Follows links of folders, as the kernel does, but not a last one. */
  private find(file: string): Inode | undefined {
    let place: Inode | undefined = this.root;
    const todo = parts(file);
    while (todo.length > 0 && place !== undefined) {
      const part = todo.shift() ?? '';
      const next: Inode | undefined = place.entries.get(part);
      if (next?.kind === 'link' && todo.length > 0) {
        todo.unshift(...parts(next.target));
        continue;
      }
      place = next;
    }
    return place;
  }
}

const parts = (file: string): string[] => file.split('/').filter((part) => part !== '');

const fault = (code: string, file: string): Error =>
  Object.assign(new Error(`${code}: injected, '${file}'`), { code, path: file, syscall: 'injected' });
