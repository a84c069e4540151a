import { Cluster, Command, type Redis } from 'ioredis';
import type { RedisClient } from './redis-access';

const slotCount = 16_384;
/** Lifetime of the keys of a check, ms. */
const keyLifeMs = 10_000;
/** More tags than are needed to find one for each master, unless it has next to no slots. */
const maxTags = 20_000;

/**
 * Rejects when Redis does not respond in time, or refuses writes (OOM, READONLY, MISCONF): a readiness check. All slots of
 * a Cluster must be served, and all of its masters accept a write.
 *
 * @param key of the caller alone, without braces
 */
export async function checkWrites(client: RedisClient, key: string): Promise<void> {
  if (!(client instanceof Cluster)) return await write(client, key);
  const info = String(await client.cluster('INFO'));
  const served = Number(/^cluster_slots_ok:(\d+)/m.exec(info)?.[1] ?? 0);
  if (served < slotCount)
    throw new Error(`${slotCount - served} of ${slotCount} slots of the Cluster are not served`);
  await Promise.all(tagsOfMasters(client).map(async (tag) => await write(client, `${key}:{${tag}}`)));
}

async function write(client: Redis | Cluster, key: string): Promise<void> {
  await client.set(key, '1', 'PX', keyLifeMs);
}

/** A hash tag in a slot of each master. */
function tagsOfMasters({ slots }: Cluster): readonly string[] {
  const missing = new Set(slots.map(([master]) => master));
  const tags: string[] = [];
  for (let tag = 0; missing.size > 0 && tag < maxTags; tag += 1) {
    const slot = new Command('get', [`{${tag}}`]).getSlot() ?? 0;
    if (missing.delete(slots[slot]?.[0])) tags.push(String(tag));
  }
  return tags;
}
