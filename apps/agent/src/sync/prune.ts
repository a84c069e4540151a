import type { Installer } from '../installation/installer';
import type { OrderStore } from '../state/order-store';
import type { StoredKeys } from '../state/stored-keys';

/** How long a version or key is kept after it was replaced. */
const keepMs = 7 * 24 * 3_600_000;

/**
 * Removes versions and keys that were replaced a week ago. What servers read is never removed.
 *
 * @param ofCluster SHA-256 of the public keys that orders of the cluster use; null: not known. Orders of which this host
 *   uses nothing have no journal, but it may be the only host that has their key
 * @returns how many
 */
export function pruneReplaced(
  installer: Installer,
  orders: OrderStore,
  keys: StoredKeys,
  now: Date,
  ofCluster: ReadonlySet<string> | null,
): number {
  const isOld = (since: string | undefined): boolean =>
    since !== undefined && now.getTime() - new Date(since).getTime() > keepMs;
  let removed = 0;
  const keysInUse = new Set(ofCluster);
  const withJournal = new Set(installer.journals.names());
  for (const order of installer.journals.names()) {
    const journal = installer.journals.of(order);
    const used = new Set([journal.wanted, orders.current(order)]);
    for (const { certificate, change } of Object.values(journal.placements))
      for (const version of [certificate, change?.from, change?.to]) used.add(version ?? null);
    for (const version of orders.versions(order)) {
      const info = installer.info(order, version);
      // Never installed, such as one that was replaced while it was held.
      const isExpired = info !== null && info.notAfter < now;
      if (!used.has(version) && (isOld(journal.replaced[version]) || isExpired)) {
        orders.removeVersion(order, version);
        removed++;
      } else if (info !== null) keysInUse.add(info.spkiSha256);
    }
    for (const key of journal.keysInUse) keysInUse.add(key);
  }
  for (const spkiSha256 of keys.all()) {
    const key = keysInUse.has(spkiSha256) ? null : keys.find(spkiSha256);
    if (key === null || !isOld(key.createdAt.toISOString())) continue;
    if (ofCluster === null && !withJournal.has(key.order)) continue;
    keys.remove(spkiSha256);
    removed++;
  }
  return removed;
}

/** Removes orders that left the cluster and whose last certificate has expired. @returns their names */
export function pruneReleased(installer: Installer, orders: OrderStore, now: Date): string[] {
  const removed: string[] = [];
  for (const order of installer.journals.names()) {
    if (!installer.journals.of(order).isReleased) continue;
    const isValid = orders.versions(order).some((version) => {
      const info = installer.info(order, version);
      return info === null || info.notAfter > now;
    });
    if (isValid) continue;
    orders.remove(order);
    installer.journals.forget(order);
    removed.push(order);
  }
  return removed;
}
