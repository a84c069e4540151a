import type { Point, Service } from '../configuration/settings';
import { isWithin } from '../configuration/values';
import {
  currentLink,
  type Journal,
  noPlacement,
  type Placement,
  type PointRecord,
} from '../state/order-store';

/** Points that change together, because they read the same files. */
export interface Work {
  readonly order: string;
  /** `current`, or a path. */
  readonly placement: string;
  readonly points: readonly Point[];
  readonly from: string | null;
  readonly to: string;
  /** Failed attempts so far. */
  readonly attempts: number;
  /** The old version is to be restored: an interrupted rollback. */
  readonly isBack: boolean;
  /** An earlier run was interrupted within it: a server that started since may have read the new version. */
  readonly isResumed: boolean;
  readonly problem: string | null;
}

export type Held = { readonly reason: 'other_host' } | { readonly reason: 'window'; readonly window: string };

/** Between two reloads of a service. */
export const reloadGapMs = 10_000;
/** After failures: 1, 10, 100 minutes, then daily. */
const backOffMinutes = [1, 10, 100, 1440] as const;

export const placementOf = ({ format, path }: Point): string =>
  format === 'folder' ? currentLink : (path ?? currentLink);

export function retryTime(attempts: number, now: Date): Date {
  const minutes = backOffMinutes[Math.min(attempts, backOffMinutes.length) - 1] ?? 1;
  return new Date(now.getTime() + minutes * 60_000);
}

/** Points of an order by what they read. */
function pointsByPlacement(points: readonly Point[], order: string): Map<string, Point[]> {
  const found = new Map<string, Point[]>();
  for (const point of points) {
    if (point.order !== order) continue;
    const key = placementOf(point);
    found.set(key, [...(found.get(key) ?? []), point]);
  }
  return found;
}

export interface Circumstances {
  readonly services: ReadonlyMap<string, Service>;
  /** Local time, for windows. */
  readonly now: Date;
  /** By the clock of the server. */
  readonly correctedNow: Date;
  /** Dates of an installed version; null when it cannot be read. */
  readonly validity: (order: string, sha256: string) => { notBefore: Date; notAfter: Date } | null;
  readonly hasVersion: (order: string, sha256: string) => boolean;
}

export interface OrderPlan {
  readonly works: readonly Work[];
  /** When something that waits is due: the end of a back-off. */
  readonly dueAt: Date | null;
  readonly held: readonly { readonly point: Point; readonly held: Held }[];
}

/** What is to be done for an order. */
export function planOrder(journal: Journal, points: readonly Point[], around: Circumstances): OrderPlan {
  const works: Work[] = [];
  const held: { point: Point; held: Held }[] = [];
  let dueAt = null as Date | null;
  const { order, wanted, allowed } = journal;
  for (const [key, members] of pointsByPlacement(points, order)) {
    const placement = journal.placements[key] ?? noPlacement;
    const records = members.map((point) => journal.points[point.id]);
    const work = workOf(journal, key, members, placement, records);
    if (work === null || !around.hasVersion(order, work.to)) continue;
    if (placement.change === null && !work.isBack) {
      const isHeld = placement.certificate !== wanted && allowed !== wanted;
      if (isHeld && !isExpiring(work, around)) {
        held.push(...members.map((point) => ({ point, held: { reason: 'other_host' } as const })));
        continue;
      }
      const window = closedWindow(work, members, around);
      if (window !== null) {
        held.push(...members.map((point) => ({ point, held: { reason: 'window', window } as const })));
        continue;
      }
    }
    const retryAt = latest(records.map((record) => record?.retryAt ?? null));
    // Beyond the longest back-off, the clock was ahead when it began.
    const isWaiting = retryAt !== null && retryAt > around.now && retryAt <= retryTime(Infinity, around.now);
    if (isWaiting && !work.isBack) {
      dueAt = dueAt === null || retryAt < dueAt ? retryAt : dueAt;
      continue;
    }
    works.push(work);
  }
  return { works, dueAt, held };
}

function workOf(
  journal: Journal,
  key: string,
  points: readonly Point[],
  { certificate, change }: Placement,
  records: readonly (PointRecord | undefined)[],
): Work | null {
  const attempts = Math.max(0, ...records.map((record) => record?.attempts ?? 0));
  const common = { order: journal.order, placement: key, points, attempts, isResumed: change !== null };
  if (change?.direction === 'back')
    return { ...common, from: change.from, to: change.to, isBack: true, problem: change.problem };
  const { wanted } = journal;
  if (wanted === null || journal.isReleased) return null;
  const isDone =
    change === null && certificate === wanted && records.every((record) => record?.done === wanted);
  if (isDone) return null;
  // A version of an interrupted switch was never proven; the one before it was.
  const from = change === null ? certificate : change.from;
  return { ...common, from, to: wanted, isBack: false, problem: null };
}

/** An expired certificate is worse than one that no other host has tried. */
const maxHeldMs = 24 * 3_600_000;

function isExpiring({ order, from }: Work, { validity, correctedNow }: Circumstances): boolean {
  const installed = from === null ? null : validity(order, from);
  return installed !== null && installed.notAfter.getTime() - correctedNow.getTime() < maxHeldMs;
}

/** @returns the text of the window that keeps a work from being done now */
function closedWindow(work: Work, points: readonly Point[], around: Circumstances): string | null {
  if (work.from === null) return null;
  const validity = around.validity(work.order, work.from);
  if (validity === null) return null;
  const { notBefore, notAfter } = validity;
  const lifetimeMs = notAfter.getTime() - notBefore.getTime();
  if (notAfter.getTime() - around.correctedNow.getTime() < lifetimeMs / 4) return null;
  for (const { service } of points) {
    const window = service === null ? null : (around.services.get(service)?.window ?? null);
    if (window !== null && !isWithin(window, around.now))
      return `${clock(window.startMinute)}-${clock(window.endMinute)}`;
  }
  return null;
}

const clock = (minute: number): string =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;

function latest(times: readonly (string | null)[]): Date | null {
  const known = times.filter((time) => time !== null).sort();
  const last = known.at(-1);
  return last === undefined ? null : new Date(last);
}

export interface Group {
  /** Reloaded together; empty for points without a service. */
  readonly services: readonly string[];
  readonly works: readonly Work[];
}

/** Works that must be done together, since they share a service. Groups share none, so they can run side by side. */
export function groupWorks(works: readonly Work[]): Group[] {
  const groups: { services: Set<string>; works: Work[] }[] = [];
  for (const work of works) {
    const services = new Set(work.points.flatMap(({ service }) => (service === null ? [] : [service])));
    const joined = groups.filter((group) => [...services].some((service) => group.services.has(service)));
    const merged = { services, works: [work] };
    for (const group of joined) {
      for (const service of group.services) merged.services.add(service);
      merged.works.unshift(...group.works);
      groups.splice(groups.indexOf(group), 1);
    }
    groups.push(merged);
  }
  return groups.map((group) => ({ services: [...group.services].sort(), works: group.works }));
}

/**
 * What one round of a group does: everything that has not failed yet, with one reload. What failed is tried alone, so
 * that it does not keep the rest from being installed. Interrupted rollbacks come first.
 */
export function selectBatch({ works }: Group): readonly Work[] {
  const back = works.filter(({ isBack }) => isBack);
  if (back.length > 0) return back;
  const fresh = works.filter(({ attempts }) => attempts === 0);
  return fresh.length > 0 ? fresh : works.slice(0, 1);
}
