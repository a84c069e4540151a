import type { InstallationState, ServedMessage } from '@certwright/agent-contract';
import type { CommandResult } from '../commands/run-command';
import type { Point, Service, Settings } from '../configuration/settings';
import type { Log } from '../log/log';
import {
  currentLink,
  type Journal,
  noPlacement,
  type OrderStore,
  type Placement,
} from '../state/order-store';
import { Journals } from './journals';
import {
  groupWorks,
  type Held,
  placementOf,
  planOrder,
  reloadGapMs,
  retryTime,
  selectBatch,
  type Work,
} from './plan';
import { faultOf, type Placing, sha256Of } from './placing';
import { type Expected, observe, type Observed, probesFor, type ProbeServer, probeWithinMs } from './probing';
import { type VersionInfo, VersionInfos } from './version-infos';

export interface InstallerParts {
  readonly orders: OrderStore;
  readonly placing: Placing;
  readonly settings: Settings;
  /** Of the host: windows and back-off are local. */
  readonly now: () => Date;
  /** Of the server: for the validity of certificates. */
  readonly correctedNow: () => Date;
  /** Of a clock that is never set: for the gap between reloads and the time of probes. */
  readonly elapsedMs: () => number;
  readonly wait: (ms: number) => Promise<void>;
  readonly run: (command: readonly string[], timeoutMs: number) => Promise<CommandResult>;
  readonly probe: ProbeServer;
  readonly log: Log;
  /** An installation of this order is in another state. */
  readonly changed: (order: string) => void;
  /** The agent stops: what is under way is continued at the next start. */
  readonly signal: AbortSignal;
}

class Stopped extends Error {}

/**
 * Brings the wanted certificates to the points of this host. Every step can be interrupted and repeated; the journal of
 * an order says where it is. docs/agent.md, "What happens at a renewal", has the steps.
 */
export class Installer {
  readonly journals: Journals;
  private readonly infos: VersionInfos;
  private readonly lastReloadMs = new Map<string, number>();
  private readonly busy = new Set<string>();
  private readonly active = new Set<Promise<void>>();

  constructor(private readonly parts: InstallerParts) {
    this.infos = new VersionInfos(parts.orders);
    this.journals = new Journals({ ...parts, info: (order, sha256) => this.info(order, sha256) });
  }

  info(order: string, sha256: string): VersionInfo | null {
    return this.infos.of(order, sha256);
  }

  /**
   * Begins everything that is due.
   *
   * @returns when something that waits is due, at the latest; null: nothing does
   */
  begin(): Date | null {
    const { now, correctedNow, settings, orders, signal } = this.parts;
    if (signal.aborted) return null;
    const at = now();
    let dueAt: Date | null = null;
    const due = (time: Date | null) => {
      if (time !== null && (dueAt === null || time < dueAt)) dueAt = time;
    };
    const works: Work[] = [];
    for (const journal of this.journals.all()) {
      const plan = planOrder(journal, this.journals.points(journal.order), {
        services: settings.services,
        now: at,
        correctedNow: correctedNow(),
        validity: (order, sha256) => this.info(order, sha256),
        hasVersion: (order, sha256) => orders.hasVersion(order, sha256),
      });
      works.push(...plan.works.filter((work) => !this.isBusy(work)));
      for (const { point, held } of plan.held) {
        this.journals.record(journal.order, point, { state: 'held', problem: heldText(held) });
        // Windows begin at a minute.
        if (held.reason === 'window') due(new Date(at.getTime() + 60_000));
      }
      due(plan.dueAt);
    }
    for (const group of groupWorks(works)) {
      const gapMs = Math.max(0, ...group.services.map((service) => this.gapMs(service)));
      if (gapMs > 0) due(new Date(at.getTime() + gapMs));
      else this.start(selectBatch(group));
    }
    return dueAt;
  }

  /** Until nothing is under way and nothing is due within `withinMs`. */
  async settle(withinMs: number): Promise<void> {
    for (;;) {
      const dueAt = this.begin();
      if (this.active.size > 0) {
        await Promise.race(this.active);
        continue;
      }
      const inMs = dueAt === null ? Infinity : dueAt.getTime() - this.parts.now().getTime();
      if (inMs > withinMs || this.parts.signal.aborted) return;
      await this.parts.wait(Math.max(inMs, 1));
    }
  }

  /** Resolves when something under way has ended. */
  async ended(): Promise<void> {
    if (this.active.size > 0) await Promise.race(this.active);
    else await new Promise(() => undefined);
  }

  /** What is under way, when the agent stops. */
  async stopped(): Promise<void> {
    await Promise.all(this.active);
  }

  /** Looks whether what was installed is still there and served; installs again what is not. */
  async inspect(): Promise<void> {
    const checked: { order: string; point: Point; expected: readonly Expected[] }[] = [];
    for (const { order, wanted, isReleased, placements, points } of this.journals.all()) {
      if (wanted === null || isReleased) continue;
      for (const point of this.journals.points(order)) {
        const placement = placements[placementOf(point)] ?? noPlacement;
        if (placement.certificate !== wanted) this.keepOld(point, placement);
        if (points[point.id]?.done !== wanted || placement.certificate !== wanted) continue;
        if (this.isLost(point, placement, wanted)) {
          this.parts.log.warn('installed file was changed or removed; installing it again', {
            order,
            point: point.id,
          });
          this.journals.record(order, point, { done: null });
        } else checked.push({ order, point, expected: this.expected(point, wanted) });
      }
    }
    const all = checked.flatMap(({ expected }) => expected);
    const results = await observe(all, this.prober(), 5000);
    for (const { order, point, expected } of checked) {
      if (expected.length === 0 || this.parts.signal.aborted) continue;
      const observed = expected.map((each) => results.get(each)).filter((each) => each !== undefined);
      const problem = observed.find(({ isServed }) => !isServed)?.problem ?? null;
      const served = observed.map((each) => each.served);
      if (problem === null) this.journals.record(order, point, { served });
      else this.journals.record(order, point, { served, done: null, problem });
    }
  }

  /**
   * What is installed while its successor has to wait is restored on the disk, where the server reads it at its next
   * start. Another content stays: it is newer when the state was restored from a backup.
   */
  private keepOld(point: Point, placement: Placement): void {
    const { certificate, change } = placement;
    const { orders, placing, log } = this.parts;
    const { order, path: file } = point;
    if (certificate === null || change !== null || !orders.hasVersion(order, certificate)) return;
    const present = file === null ? orders.current(order) : placing.present(file);
    const isOther = present !== null && present !== (file === null ? certificate : placement.content);
    if (isOther || !this.isLost(point, placement, certificate)) return;
    log.warn('installed file was changed or removed; restoring it', { order, point: point.id });
    try {
      if (file === null) return orders.setCurrent(order, certificate);
      const { content, access } = placing.prepare(point, certificate);
      orders.placeFile(file, content, access);
    } catch (error) {
      log.warn('installed file cannot be restored', { order, point: point.id, error: faultOf(error) });
    }
  }

  private isBusy({ order, placement, points }: Work): boolean {
    return (
      this.busy.has(`${order}\n${placement}`) ||
      points.some(({ service }) => service !== null && this.busy.has(service))
    );
  }

  /** @returns how long the service must not be reloaded yet; not positive: it may */
  private gapMs(service: string): number {
    return (this.lastReloadMs.get(service) ?? -Infinity) + reloadGapMs - this.parts.elapsedMs();
  }

  private start(batch: readonly Work[]): void {
    const keys = batch.flatMap(({ order, placement, points }) => [
      `${order}\n${placement}`,
      ...points.flatMap(({ service }) => (service === null ? [] : [service])),
    ]);
    for (const key of keys) this.busy.add(key);
    const done = this.round(batch)
      .catch((error: unknown) => {
        if (error instanceof Stopped) return;
        this.parts.log.warn('installation ended by an error', { error: String(error) });
        for (const work of batch) this.fail(work, 'failed', String(error));
      })
      .finally(() => {
        for (const key of keys) this.busy.delete(key);
        this.active.delete(done);
      });
    this.active.add(done);
  }

  private async round(batch: readonly Work[]): Promise<void> {
    const back = batch.filter(({ isBack }) => isBack);
    if (back.length > 0) {
      await this.rollBack(
        back.map((work) => ({ work, problem: work.problem ?? 'the rollback was interrupted' })),
      );
      return;
    }
    const broken = new Map<Work, string>();
    const tested = await this.test(
      batch.filter((work) => this.switch(work)),
      broken,
    );
    for (const service of this.servicesOf(tested)) {
      const problem = await this.reload(service);
      if (problem === null) continue;
      for (const work of tested.filter(using(service)))
        broken.set(work, `reload of ${service.name} failed: ${problem}`);
    }
    const expected = this.expectations(
      tested.filter((work) => !broken.has(work)),
      ({ to }) => to,
    );
    const results = await observe([...expected.values()].flat(), this.prober());
    this.continueOnly();
    for (const work of tested) {
      const observed = resultsOf(expected.get(work) ?? [], results);
      const notServed = observed.find(({ isServed }) => !isServed);
      if (notServed !== undefined) broken.set(work, `${notServed.problem ?? 'not served'} ${afterReload}`);
      if (!broken.has(work)) this.finish(work, observed);
    }
    await this.rollBack([...broken].map(([work, problem]) => ({ work, problem })));
  }

  /** Steps 2 and 3: journal, rename. @returns whether the new version is in place */
  private switch(work: Work): boolean {
    const { orders } = this.parts;
    const { order, placement, to, from } = work;
    try {
      const prepared = placement === currentLink ? null : this.parts.placing.prepare(firstOf(work), to);
      if (from !== to) {
        const before = this.journals.of(order).placements[placement] ?? noPlacement;
        const change = { from, to, direction: 'forward', problem: null } as const;
        this.journals.storeOrThrow(this.journals.withPlacement(order, placement, { ...before, change }));
      }
      for (const point of work.points)
        this.journals.record(order, point, { state: 'installing', problem: null });
      if (prepared === null) {
        if (orders.current(order) !== to) orders.setCurrent(order, to);
      } else orders.placeFile(placement, prepared.content, prepared.access);
      return true;
    } catch (error) {
      this.restoreQuietly(work);
      this.fail(work, 'failed', faultOf(error));
      return false;
    }
  }

  /** Step 4. What fails together is tried one by one, so that the others go on. @returns what passed */
  private async test(switched: readonly Work[], broken: Map<Work, string>): Promise<readonly Work[]> {
    let passed = switched;
    for (const service of this.servicesOf(switched)) {
      const mine = passed.filter(using(service));
      if (service.test === null || mine.length === 0) continue;
      const problem = await this.command(service.test, service);
      if (problem === null) continue;
      for (const work of mine) if (mine.length > 1) this.restoreQuietly(work);
      const failed = new Set<Work>();
      for (const work of mine) {
        const own =
          mine.length === 1 ? problem : this.switch(work) ? await this.command(service.test, service) : '';
        if (own === null) continue;
        failed.add(work);
        // Reported by the switch itself.
        if (own === '') continue;
        const text = `test of ${service.name} failed: ${own}`;
        if (work.isResumed) broken.set(work, text);
        else this.failTest(work, text);
      }
      passed = passed.filter((work) => !failed.has(work));
    }
    return passed;
  }

  private failTest(work: Work, problem: string): void {
    const isRestored = this.isRestorable(work) && this.restoreQuietly(work);
    this.fail(work, isRestored ? 'rolled_back' : 'failed', problem);
  }

  /** Step 5. Its exit code alone proves nothing, but a failure is one. */
  private async reload(service: Service): Promise<string | null> {
    if (service.reload === null) return null;
    const waitMs = this.gapMs(service.name);
    if (waitMs > 0) await this.parts.wait(waitMs);
    this.continueOnly();
    this.lastReloadMs.set(service.name, this.parts.elapsedMs());
    return await this.command(service.reload, service);
  }

  /** Step 7. Without an old version, the new one stays: there is nothing better to serve. */
  private async rollBack(
    broken: readonly { readonly work: Work; readonly problem: string }[],
  ): Promise<void> {
    const restored: { work: Work; problem: string }[] = [];
    for (const { work, problem } of broken) {
      const { order, placement, from, to } = work;
      if (from !== null && this.isRestorable(work)) {
        const before = this.journals.of(order).placements[placement] ?? noPlacement;
        const change = { from, to, direction: 'back', problem } as const;
        this.journals.store(this.journals.withPlacement(order, placement, { ...before, change }));
        if (this.restoreQuietly(work, true)) restored.push({ work, problem });
        else this.fail(work, 'failed', `${problem}; the old version cannot be restored`);
      } else this.fail(work, 'failed', problem);
    }
    if (restored.length === 0) return;
    const works = restored.map(({ work }) => work);
    for (const service of this.servicesOf(works)) {
      const problem = await this.reload(service);
      if (problem !== null)
        this.parts.log.warn('reload of the old version failed', { service: service.name, problem });
    }
    const expected = this.expectations(works, ({ from }) => from);
    const results = await observe([...expected.values()].flat(), this.prober());
    this.continueOnly();
    for (const { work, problem } of restored) {
      const observed = resultsOf(expected.get(work) ?? [], results);
      const notServed = observed.find(({ isServed }) => !isServed);
      const end =
        notServed === undefined
          ? 'the old certificate is served'
          : `and the old one is not served either: ${notServed.problem ?? ''}`;
      this.fail(
        work,
        notServed === undefined ? 'rolled_back' : 'failed',
        `${problem}; ${end}`,
        observed.map(({ served }) => served),
      );
    }
  }

  private isRestorable({ order, from, to }: Work): boolean {
    return from !== null && from !== to && this.parts.orders.hasVersion(order, from);
  }

  /** Puts the old version back, on disk. @returns false when there is none, or the disk refuses it */
  private restoreQuietly(work: Work, isReported = false): boolean {
    const { order, placement, from } = work;
    if (from === null || !this.isRestorable(work)) return false;
    const { orders, placing } = this.parts;
    try {
      if (placement === currentLink) {
        if (orders.current(order) !== from) orders.setCurrent(order, from);
      } else {
        const { content, access } = placing.prepare(firstOf(work), from);
        if (placing.present(placement) !== sha256Of(content)) orders.placeFile(placement, content, access);
      }
      return true;
    } catch (error) {
      if (isReported) this.parts.log.warn('old version cannot be restored', { order, error: faultOf(error) });
      return false;
    }
  }

  /** Step 8, after success. */
  private finish(work: Work, observed: readonly Observed[]): void {
    const { order, placement, from, to, points } = work;
    const content = placement === currentLink ? null : this.parts.placing.present(placement);
    let journal = this.journals.withPlacement(order, placement, { certificate: to, content, change: null });
    if (from !== null && from !== to && !isUsed(journal, from))
      journal = {
        ...journal,
        replaced: { ...journal.replaced, [from]: this.parts.correctedNow().toISOString() },
      };
    const { [to]: _, ...replaced } = journal.replaced;
    this.journals.keep({ ...journal, replaced });
    const served = observed.map((each) => each.served);
    for (const point of points) {
      const own = served.filter((each) => this.isOf(point, each));
      const state = own.length === 0 ? 'installed' : 'serving';
      this.journals.record(order, point, {
        state,
        done: to,
        problem: null,
        served: own,
        attempts: 0,
        retryAt: null,
      });
    }
    this.journals.store(this.journals.of(order));
  }

  /** Step 8, after a failure. */
  private fail(
    work: Work,
    state: InstallationState,
    problem: string,
    served: readonly ServedMessage[] = [],
  ): void {
    const { order, placement, from, points } = work;
    const before = this.journals.of(order).placements[placement] ?? noPlacement;
    // Without an old version, the new one stays in place.
    const certificate = this.isRestorable(work) ? from : this.placed(work);
    const content = placement === currentLink ? null : this.parts.placing.present(placement);
    this.journals.keep(
      this.journals.withPlacement(order, placement, { ...before, certificate, content, change: null }),
    );
    const retryAt = retryTime(work.attempts + 1, this.parts.now()).toISOString();
    for (const point of points) {
      const own = served.filter((each) => this.isOf(point, each));
      this.journals.record(order, point, {
        state,
        problem,
        done: null,
        served: own,
        attempts: work.attempts + 1,
        retryAt,
      });
    }
    this.journals.store(this.journals.of(order));
  }

  /** @returns what is in place of a work that has no old version */
  private placed({ order, placement, to, from }: Work): string | null {
    if (placement === currentLink) return this.parts.orders.current(order);
    return this.parts.placing.present(placement) === null ? from : to;
  }

  private isLost(point: Point, { content }: Placement, wanted: string): boolean {
    const { orders, placing } = this.parts;
    if (point.path === null)
      return orders.current(point.order) !== wanted || !orders.hasVersion(point.order, wanted);
    return content !== null && (placing.present(point.path) !== content || !placing.hasAccess(point));
  }

  private servicesOf(works: readonly Work[]): Service[] {
    const names = new Set(works.flatMap(({ points }) => points.map(({ service }) => service)));
    return [...this.parts.settings.services.values()].filter(({ name }) => names.has(name));
  }

  private expectations(
    works: readonly Work[],
    version: (work: Work) => string | null,
  ): Map<Work, Expected[]> {
    return new Map(
      works.map((work) => {
        const sha256 = version(work);
        const expected = sha256 === null ? [] : work.points.flatMap((point) => this.expected(point, sha256));
        return [work, expected];
      }),
    );
  }

  private expected(point: Point, sha256: string): Expected[] {
    const service = point.service === null ? undefined : this.parts.settings.services.get(point.service);
    const info = this.info(point.order, sha256);
    if (service === undefined || info === null) return [];
    return probesFor(service, info.dnsNames)
      .filter(({ serverName }) => !this.isForOther(service, point.order, info, serverName))
      .map((probe) => ({
        probe,
        sha256,
        keyType: this.hasOtherType(service, point.order, info, probe.serverName) ? info.keyType : null,
      }));
  }

  /** Of a wildcard and a certificate with the name itself, a server presents the latter. */
  private isForOther(service: Service, order: string, info: VersionInfo, serverName: string): boolean {
    if (hasName(info, serverName)) return false;
    return this.others(service, order).some((other) => hasName(other, serverName));
  }

  /** A server with a certificate of each key type for one name presents the one that the client prefers. */
  private hasOtherType(service: Service, order: string, info: VersionInfo, serverName: string): boolean {
    return this.others(service, order).some(
      (other) =>
        other.keyType !== info.keyType &&
        probesFor(service, other.dnsNames).some((probe) => probe.serverName === serverName),
    );
  }

  /** Certificates of other orders that a service is to have. */
  private others(service: Service, order: string): VersionInfo[] {
    return this.parts.settings.points.flatMap((point) => {
      if (point.service !== service.name || point.order === order) return [];
      const { wanted } = this.journals.of(point.order);
      const other = wanted === null ? null : this.info(point.order, wanted);
      return other === null ? [] : [other];
    });
  }

  private isOf(point: Point, { address }: ServedMessage): boolean {
    const service = point.service === null ? undefined : this.parts.settings.services.get(point.service);
    return service?.probes.some((probe) => `${probe.address}/${probe.serverName}` === address) ?? false;
  }

  private async command(command: readonly string[], { timeoutMs }: Service): Promise<string | null> {
    const result = await this.parts.run(command, timeoutMs);
    this.continueOnly();
    return result.problem;
  }

  private prober() {
    const { probe, now, elapsedMs, wait, signal } = this.parts;
    return { probe, now, elapsedMs, wait, signal };
  }

  private continueOnly(): void {
    if (this.parts.signal.aborted) throw new Stopped();
  }
}

const afterReload = `within ${probeWithinMs / 1000} s after the reload`;

const hasName = ({ dnsNames }: VersionInfo, name: string): boolean =>
  dnsNames.some((each) => each.toLowerCase() === name);

const using =
  ({ name }: Service) =>
  ({ points }: Work): boolean =>
    points.some(({ service }) => service === name);

function firstOf({ points }: Work): Point {
  const [point] = points;
  if (point === undefined) throw new Error('a placement has no point');
  return point;
}

const resultsOf = (expected: readonly Expected[], results: ReadonlyMap<Expected, Observed>): Observed[] =>
  expected.map((each) => results.get(each)).filter((each) => each !== undefined);

const isUsed = ({ placements }: Journal, sha256: string): boolean =>
  Object.values(placements).some(
    ({ certificate, change }) => certificate === sha256 || change?.from === sha256 || change?.to === sha256,
  );

const heldText = (held: Held): string =>
  held.reason === 'other_host'
    ? 'another host of the cluster installs it first'
    : `waits for the window ${held.window}`;
