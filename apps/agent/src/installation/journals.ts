import type { InstallationState } from '@certwright/agent-contract';
import type { Point, Settings } from '../configuration/settings';
import { fileFault } from '../files/durable';
import type { Log } from '../log/log';
import {
  type Change,
  type Journal,
  JournalFault,
  newJournal,
  type OrderStore,
  type Placement,
  type PointRecord,
} from '../state/order-store';
import { type Placing, sha256Of } from './placing';
import { placementOf } from './plan';
import type { VersionInfo } from './version-infos';

export interface JournalsParts {
  readonly orders: OrderStore;
  readonly placing: Placing;
  /** @returns null when it cannot be read */
  readonly info: (order: string, sha256: string) => VersionInfo | null;
  readonly settings: Settings;
  readonly now: () => Date;
  /** Of the server: for the validity of certificates. */
  readonly correctedNow: () => Date;
  readonly log: Log;
  /** An installation of this order is in another state. */
  readonly changed: (order: string) => void;
}

const newRecord = (since: string): PointRecord => ({
  done: null,
  state: 'waiting',
  since,
  problem: null,
  served: [],
  attempts: 0,
  retryAt: null,
});

/** What this host is to install, how far it is, and what is wrong: in memory, and on the disk as far as that accepts it. */
export class Journals {
  private readonly journals = new Map<string, Journal>();
  /** Orders whose journal on the disk is older. */
  private readonly unsaved = new Set<string>();
  private readonly pointsOf = new Map<string, Point[]>();
  /** Path of a journal that cannot be used → what is wrong, and where it is now. */
  private readonly damaged = new Map<string, { readonly problem: string; readonly file: string }>();

  constructor(private readonly parts: JournalsParts) {
    for (const point of parts.settings.points)
      this.pointsOf.set(point.order, [...(this.pointsOf.get(point.order) ?? []), point]);
  }

  /** Reads what earlier runs left. */
  restore(): void {
    const { journals, faults } = this.parts.orders.all();
    for (const journal of journals) this.journals.set(journal.order, journal);
    for (const fault of faults) this.setAside(fault);
  }

  /** One that cannot be used concerns its order alone, and stays there for a person. */
  private setAside(fault: JournalFault): void {
    const { orders, log } = this.parts;
    let file = fault.file;
    let done: string;
    try {
      file = orders.setAside(fault);
      done = `the agent set it aside as ${file} and found out again what is installed; remove that file when you do not need it`;
    } catch (error) {
      done = `it cannot be set aside: ${fileFault(error)}`;
    }
    const problem = `${fault.problem}; ${done}`;
    if (this.damaged.get(fault.file)?.problem !== problem)
      log.warn('journal cannot be used', { file: fault.file, problem });
    this.damaged.set(fault.file, { problem, file });
  }

  /** What is wrong with journals, until a person has removed them. */
  problems(): readonly string[] {
    return [...this.damaged.values()]
      .filter(({ file }) => this.parts.orders.has(file))
      .map(({ problem }) => problem);
  }

  names(): readonly string[] {
    return [...this.journals.keys()];
  }

  all(): readonly Journal[] {
    return [...this.journals.values()];
  }

  of(order: string, wanted: string | null = null): Journal {
    return this.journals.get(order) ?? this.stored(order) ?? this.found(order, wanted);
  }

  private stored(order: string): Journal | null {
    try {
      return this.parts.orders.journal(order);
    } catch (error) {
      if (!(error instanceof JournalFault)) throw error;
      this.setAside(error);
      return null;
    }
  }

  /**
   * Of an order without a journal, such as one whose journal was damaged: what is in place. Whether the wanted version was
   * proven is not known, so that its switch is continued, and can return to the version before it.
   */
  private found(order: string, wanted: string | null): Journal {
    const placements: Record<string, Placement> = {};
    for (const point of this.points(order)) {
      const content = point.path === null ? null : this.parts.placing.present(point.path);
      const certificate =
        point.path === null ? this.parts.orders.current(order) : this.versionOf(order, content);
      if (certificate === null) continue;
      const from = certificate === wanted ? this.versionBefore(order, certificate) : null;
      const change: Change | null =
        from === null ? null : { from, to: certificate, direction: 'forward', problem: null };
      placements[placementOf(point)] = { certificate: from ?? certificate, content, change };
    }
    return { ...newJournal(order), placements };
  }

  /** @returns the version with this combined file; null also for a PKCS#12 file, which differs each time */
  private versionOf(order: string, content: string | null): string | null {
    const { orders } = this.parts;
    const isOfContent = (sha256: string) => {
      try {
        return sha256Of(orders.read(order, sha256, 'combined.pem')) === content;
      } catch {
        return false;
      }
    };
    return content === null ? null : (orders.versions(order).find(isOfContent) ?? null);
  }

  /** @returns the newest version that is older, complete and valid; null: none */
  private versionBefore(order: string, sha256: string): string | null {
    const { orders, info, correctedNow } = this.parts;
    const begin = (each: string) => info(order, each)?.notBefore.getTime() ?? -Infinity;
    const isValid = (each: string) => (info(order, each)?.notAfter ?? 0) > correctedNow();
    const older = orders
      .versions(order)
      .filter((each) => begin(each) < begin(sha256) && isValid(each) && orders.hasVersion(order, each))
      .sort((one, other) => begin(other) - begin(one));
    return older[0] ?? null;
  }

  points(order: string): readonly Point[] {
    return this.pointsOf.get(order) ?? [];
  }

  /** The certificate that the points of an order are to have; its version folder may come later. */
  want(
    order: string,
    wanted: string | null,
    { mayInstall, keysInUse }: { mayInstall: boolean; keysInUse: readonly string[] },
  ): void {
    const journal = this.of(order, wanted);
    const allowed = mayInstall ? wanted : null;
    const isOther = journal.wanted !== wanted;
    const isSame =
      !isOther &&
      journal.allowed === allowed &&
      !journal.isReleased &&
      journal.keysInUse.join() === keysInUse.join();
    if (isSame && this.journals.has(order)) return this.setDone(order);
    // A new certificate gets attempts of its own.
    const points = isOther
      ? Object.fromEntries(
          Object.entries(journal.points).map(([id, record]) => [
            id,
            { ...record, attempts: 0, retryAt: null },
          ]),
        )
      : journal.points;
    this.store({ ...journal, wanted, allowed, keysInUse, isReleased: false, points });
    if (wanted === null) this.setStates(order, 'waiting', null);
    else this.setDone(order);
  }

  /** The wanted certificate is installed: what was wrong with another one does not matter any more. */
  private setDone(order: string): void {
    const { wanted, points } = this.of(order);
    for (const point of this.points(order)) {
      const record = points[point.id];
      if (record === undefined || wanted === null || record.done !== wanted || isGood(record.state)) continue;
      this.record(order, point, { state: record.served.length > 0 ? 'serving' : 'installed', problem: null });
    }
  }

  /** The order left the cluster: its files stay, and nothing is changed any more. */
  release(order: string): void {
    const journal = this.journals.get(order);
    if (journal === undefined || journal.isReleased) return;
    this.store({ ...journal, isReleased: true });
    this.setStates(order, 'released', 'the order left the cluster; its files stay, but are not renewed');
  }

  /** For states that are not the result of an installation: no certificate, no key, refused. */
  setStates(order: string, state: InstallationState, problem: string | null): void {
    for (const point of this.points(order)) this.record(order, point, { state, problem });
  }

  /** Operators who call `once` do not wait for the end of a back-off. */
  retryNow(): void {
    for (const journal of [...this.journals.values()]) {
      const points = Object.entries(journal.points).map(
        ([id, record]) => [id, { ...record, retryAt: null }] as const,
      );
      this.journals.set(journal.order, { ...journal, points: Object.fromEntries(points) });
    }
  }

  /** Writes journals that could not be written. @returns what is wrong with the disk; null: nothing */
  save(): string | null {
    for (const order of this.unsaved) {
      try {
        this.parts.orders.storeJournal(this.of(order));
        this.unsaved.delete(order);
      } catch (error) {
        return fileFault(error);
      }
    }
    return null;
  }

  /** Only for `prune`. */
  forget(order: string): void {
    this.journals.delete(order);
    this.unsaved.delete(order);
  }

  record(order: string, point: Point, changes: Partial<PointRecord>): void {
    const journal = this.of(order);
    const before = journal.points[point.id] ?? newRecord(this.nowText());
    const after = { ...before, ...changes };
    const isOther =
      after.state !== before.state || after.problem !== before.problem || after.done !== before.done;
    const record = after.state === before.state ? after : { ...after, since: this.nowText() };
    this.journals.set(order, { ...journal, points: { ...journal.points, [point.id]: record } });
    const isServedOther = JSON.stringify(bySha(after)) !== JSON.stringify(bySha(before));
    if (!isOther && !isServedOther && journal.points[point.id] !== undefined) return;
    this.unsaved.add(order);
    if (isOther) this.logRecord(order, point, record);
    this.parts.changed(order);
  }

  private logRecord(order: string, point: Point, { state, done, problem, retryAt }: PointRecord): void {
    const fields = { order, point: point.id, certificate: done?.slice(0, 16), problem, retry_at: retryAt };
    const isProblem = state === 'failed' || state === 'rolled_back' || state === 'no_key';
    if (isProblem) this.parts.log.warn(`installation ${state}`, fields);
    else this.parts.log.info(`installation ${state}`, fields);
  }

  withPlacement(order: string, key: string, placement: Placement): Journal {
    const journal = this.of(order);
    return { ...journal, placements: { ...journal.placements, [key]: placement } };
  }

  /** In memory, to be stored together with what follows. */
  keep(journal: Journal): void {
    this.journals.set(journal.order, journal);
  }

  /** For changes that are repeated after a crash anyway. */
  store(journal: Journal): void {
    this.journals.set(journal.order, journal);
    try {
      this.parts.orders.storeJournal(journal);
      this.unsaved.delete(journal.order);
    } catch (error) {
      this.unsaved.add(journal.order);
      this.parts.log.warn('journal cannot be written', { order: journal.order, error: fileFault(error) });
    }
  }

  storeOrThrow(journal: Journal): void {
    this.parts.orders.storeJournal(journal);
    this.journals.set(journal.order, journal);
  }

  private nowText(): string {
    return this.parts.now().toISOString();
  }
}

const isGood = (state: InstallationState): boolean => state === 'serving' || state === 'installed';

const bySha = ({ served }: PointRecord) => served.map(({ address, sha256 }) => [address, sha256]);
