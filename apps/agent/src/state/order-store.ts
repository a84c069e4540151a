import path from 'node:path';
import {
  type InstallationState,
  installationStates,
  orderFolder,
  type ServedMessage,
} from '@certwright/agent-contract';
import {
  ensureFolder,
  errorCode,
  fileFault,
  removeTree,
  replaceFile,
  replaceLink,
  secret,
} from '../files/durable';
import type { Access, Files } from '../files/files';
import { readJson, StateFault } from './json-file';

/** A switch that has begun: from one version to another. */
export interface Change {
  readonly from: string | null;
  readonly to: string;
  /** `back`: the new version is not served; the old one is restored. */
  readonly direction: 'forward' | 'back';
  readonly problem: string | null;
}

/** Where files of a version are: `current`, or a path outside the state. */
export interface Placement {
  /** SHA-256 of the certificate; null before the first installation. */
  readonly certificate: string | null;
  /** SHA-256 over the bytes of a file outside the state. */
  readonly content: string | null;
  readonly change: Change | null;
}

/** How the installation at one point is. */
export interface PointRecord {
  /** The certificate for which test, reload and probe are done. */
  readonly done: string | null;
  readonly state: InstallationState;
  readonly since: string;
  readonly problem: string | null;
  readonly served: readonly ServedMessage[];
  /** Failed attempts for `wanted`. */
  readonly attempts: number;
  readonly retryAt: string | null;
}

export interface Journal {
  readonly order: string;
  readonly wanted: string | null;
  /** The certificate that may be installed: no other host has to go first. */
  readonly allowed: string | null;
  /** SHA-256 of the public keys of the order's CSR and certificate, which must not be removed. */
  readonly keysInUse: readonly string[];
  readonly isReleased: boolean;
  readonly placements: Readonly<Record<string, Placement>>;
  readonly points: Readonly<Record<string, PointRecord>>;
  /** Version → since when it is not in use. */
  readonly replaced: Readonly<Record<string, string>>;
}

export const currentLink = 'current';
const versions = 'versions';
const certificateName = /^[0-9a-f]{64}$/;

export const noPlacement: Placement = { certificate: null, content: null, change: null };

export const newJournal = (order: string): Journal => ({
  order,
  wanted: null,
  allowed: null,
  keysInUse: [],
  isReleased: false,
  placements: {},
  points: {},
  replaced: {},
});

/** The journal of one order cannot be used. */
export class JournalFault extends StateFault {
  constructor(
    readonly file: string,
    readonly problem: string,
  ) {
    super(`${problem}; the agent sets it aside at its next start`);
  }
}

/** `orders/<folder>` of the state: versions, the link to the current one, and the journal. */
export class OrderStore {
  readonly root: string;

  constructor(
    private readonly files: Files,
    state: string,
  ) {
    this.root = path.join(state, 'orders');
  }

  /** Orders that have a journal, and journals that cannot be used. */
  all(): { readonly journals: readonly Journal[]; readonly faults: readonly JournalFault[] } {
    const journals: Journal[] = [];
    const faults: JournalFault[] = [];
    for (const folder of this.files.state(this.root) === null ? [] : this.files.list(this.root)) {
      if (this.files.state(path.join(this.root, folder))?.kind !== 'folder') continue;
      try {
        const journal = this.readJournal(folder);
        // A folder belongs to the order whose name leads to it; another one was copied there.
        if (journal !== null && orderFolder(journal.order) === folder) journals.push(journal);
      } catch (error) {
        if (!(error instanceof JournalFault)) throw error;
        faults.push(error);
      }
    }
    return { journals, faults };
  }

  /** @returns null when it has none. @throws JournalFault */
  journal(order: string): Journal | null {
    const folder = orderFolder(order);
    const journal = this.readJournal(folder);
    if (journal === null || journal.order === order) return journal;
    const file = this.journalFile(folder);
    throw new JournalFault(file, `${file} is of another order (${JSON.stringify(journal.order)})`);
  }

  private readJournal(folder: string): Journal | null {
    const file = this.journalFile(folder);
    let stored: unknown;
    try {
      stored = readJson<unknown>(this.files, file);
      if (this.files.state(file) === null) return null;
    } catch (error) {
      // They are of the process, not of the file.
      if (['EMFILE', 'ENFILE', 'ENOMEM'].includes(errorCode(error) ?? '')) throw error;
      throw new JournalFault(
        file,
        error instanceof StateFault ? `${file} is damaged` : `${file} cannot be read: ${fileFault(error)}`,
      );
    }
    if (!isJournal(stored)) throw new JournalFault(file, `${file} is damaged`);
    return stored;
  }

  /**
   * Renames a journal that cannot be used, so that a new one can be written. An older one of that name is replaced.
   *
   * @returns its new path
   */
  setAside({ file }: JournalFault): string {
    const aside = `${file}.damaged`;
    const older = this.files.state(aside);
    if (older?.kind === 'folder') removeTree(this.files, aside);
    else if (older !== null) this.files.remove(aside);
    this.files.rename(file, aside);
    this.files.syncFolder(path.dirname(file));
    return aside;
  }

  has(file: string): boolean {
    return this.files.state(file) !== null;
  }

  private journalFile(folder: string): string {
    return path.join(this.root, folder, 'journal.json');
  }

  storeJournal(journal: Journal): void {
    const folder = this.folder(journal.order);
    ensureFolder(this.files, folder);
    const text = `${JSON.stringify(journal, null, 1)}\n`;
    replaceFile(this.files, this.journalFile(orderFolder(journal.order)), Buffer.from(text), secret);
  }

  /** Whether a version is there with all its files. Another program may have removed some, or the disk cannot read it. */
  hasVersion(order: string, sha256: string): boolean {
    const folder = this.version(order, sha256);
    let names: readonly string[];
    try {
      if (this.files.state(folder)?.kind !== 'folder') return false;
      names = this.files.list(folder);
    } catch {
      // Its files are written again, which reports what is wrong.
      return false;
    }
    const has = (name: string) => names.includes(name);
    // Without a key on this host, a version has neither of the last two.
    return (
      ['cert.pem', 'chain.pem', 'fullchain.pem'].every(has) && has('privkey.pem') === has('combined.pem')
    );
  }

  /** Complete and durable when it returns; before, there is no folder of that name, or what was left of it. */
  addVersion(order: string, sha256: string, content: ReadonlyMap<string, Uint8Array>): void {
    const parent = path.join(this.folder(order), versions);
    ensureFolder(this.files, parent);
    const version = this.version(order, sha256);
    if (this.files.state(version) !== null) {
      // Servers may read it: its files return one by one.
      for (const [name, bytes] of content) replaceFile(this.files, path.join(version, name), bytes, secret);
      return;
    }
    const draft = path.join(parent, `.${sha256}.new`);
    if (this.files.state(draft) !== null) removeTree(this.files, draft);
    try {
      this.files.makeFolder(draft, 0o700);
      for (const [name, bytes] of content) {
        this.files.create(path.join(draft, name), bytes, secret);
        this.files.sync(path.join(draft, name));
      }
      this.files.syncFolder(draft);
      this.files.rename(draft, version);
    } catch (error) {
      try {
        removeTree(this.files, draft);
      } catch {
        // Removed at the next start.
      }
      throw error;
    }
    this.files.syncFolder(parent);
  }

  read(order: string, sha256: string, name: string): Buffer {
    return this.files.read(path.join(this.version(order, sha256), name), 4 * 1024 * 1024);
  }

  versions(order: string): string[] {
    const parent = path.join(this.folder(order), versions);
    if (this.files.state(parent) === null) return [];
    return this.files.list(parent).filter((name) => certificateName.test(name));
  }

  removeVersion(order: string, sha256: string): void {
    const parent = path.join(this.folder(order), versions);
    const draft = path.join(parent, `.${sha256}.new`);
    // Under its name, a version is complete.
    this.files.rename(this.version(order, sha256), draft);
    this.files.syncFolder(parent);
    removeTree(this.files, draft);
  }

  /** What an interrupted run left. */
  removeLeftovers(order: string): void {
    const parent = path.join(this.folder(order), versions);
    if (this.files.state(parent) === null) return;
    for (const name of this.files.list(parent))
      if (name.startsWith('.') && name.endsWith('.new')) removeTree(this.files, path.join(parent, name));
  }

  /** @returns the version that servers read; null before the first one, and when the disk cannot read it */
  current(order: string): string | null {
    const link = path.join(this.folder(order), currentLink);
    try {
      if (this.files.state(link)?.kind !== 'link') return null;
      const name = path.basename(this.files.readLink(link));
      return certificateName.test(name) ? name : null;
    } catch {
      // It is written again, which reports what is wrong.
      return null;
    }
  }

  /** One rename, durable when it returns. */
  setCurrent(order: string, sha256: string): void {
    replaceLink(this.files, path.join(this.folder(order), currentLink), path.join(versions, sha256));
  }

  /** A file outside the state, whose folder was checked. */
  placeFile(file: string, content: Uint8Array, access: Access): void {
    replaceFile(this.files, file, content, access);
  }

  /** Everything of an order. Only for one that left the cluster and is not in use. */
  remove(order: string): void {
    this.removeLeftovers(order);
    for (const version of this.versions(order)) this.removeVersion(order, version);
    const folder = this.folder(order);
    const parent = path.join(folder, versions);
    if (this.files.state(parent) !== null) this.files.removeFolder(parent);
    removeTree(this.files, folder);
    this.files.syncFolder(this.root);
  }

  folder(order: string): string {
    return path.join(this.root, orderFolder(order));
  }

  private version(order: string, sha256: string): string {
    return path.join(this.folder(order), versions, sha256);
  }
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isFlag: Check = (value) => typeof value === 'boolean';
const isCertificate: Check = (value) => typeof value === 'string' && certificateName.test(value);
const isDate: Check = (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value));
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isState: Check = (value) => installationStates.some((state) => state === value);
const isDirection: Check = (value) => value === 'forward' || value === 'back';
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const mapOf =
  (check: Check): Check =>
  (value) =>
    isRecord(value) && Object.values(value).every(check);
const objectOf =
  <T>(checks: Readonly<Record<keyof T, Check>>): Check =>
  (value) =>
    isRecord(value) && Object.entries<Check>(checks).every(([name, check]) => check(value[name]));

const isJournal = objectOf<Journal>({
  order: isText,
  wanted: orNull(isCertificate),
  allowed: orNull(isCertificate),
  keysInUse: listOf(isText),
  isReleased: isFlag,
  placements: mapOf(
    objectOf<Placement>({
      certificate: orNull(isCertificate),
      content: orNull(isText),
      change: orNull(
        objectOf<Change>({
          from: orNull(isCertificate),
          to: isCertificate,
          direction: isDirection,
          problem: orNull(isText),
        }),
      ),
    }),
  ),
  points: mapOf(
    objectOf<PointRecord>({
      done: orNull(isCertificate),
      state: isState,
      since: isDate,
      problem: orNull(isText),
      served: listOf(
        objectOf<ServedMessage>({ address: isText, sha256: orNull(isText), checked_at: isDate }),
      ),
      attempts: isCount,
      retryAt: orNull(isDate),
    }),
  ),
  replaced: mapOf(isDate),
}) as (value: unknown) => value is Journal;
