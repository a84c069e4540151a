// @ts-check
// Starts a platform for consecutive parts with the same servers, and runs them.
import { loadavg } from 'node:os';
import path from 'node:path';
import { parts } from './parts.mjs';
import { startPlatform } from './platform.mjs';
import { redisCluster, redisWithSentinels } from './redis-servers.mjs';
import { Requests } from './requests.mjs';
import { Tenant } from './tenant.mjs';

const TENANTS = 2;
const MAX_PRINTED = 40;

/**
 * @param {{ folder: string, perS: number, only: readonly string[], random: () => number, node: string, signal: AbortSignal, say: (line: string) => void }} how
 * @throws {Error} when a part has found a problem
 */
export async function runParts({ folder, perS, only, random, node, signal, say }) {
  /** @type {string[]} */
  const problems = [];
  const chosen = Object.entries(parts).filter(([name]) => only.length === 0 || only.includes(name));
  for (const [index, group] of groupsOf(chosen).entries()) {
    const {
      redis,
      beforeNewest = false,
      smallDisks = false,
    } = /** @type {import('./parts.mjs').Part} */ (group[0]?.[1]);
    const platform = await startPlatform({
      ...{ node, folder: path.join(folder, `servers-${index + 1}`), beforeNewest, smallDisks, signal, say },
      redis: redis === 'cluster' ? redisCluster : redisWithSentinels,
    });
    const requests = new Requests();
    /** @type {Tenant[]} */
    const tenants = [];
    try {
      for (let count = 0; count < TENANTS; count += 1)
        tenants.push(new Tenant(platform, await platform.newAccount(), requests));
      for (const tenant of tenants) await tenant.setUp();
      for (const [name, part] of group) {
        signal.throwIfAborted();
        say(`${name} (load average ${loadavg()[0]?.toFixed(1)}):`);
        const found = await part.run({ platform, tenants, requests, perS, random, say });
        for (const each of found.slice(0, MAX_PRINTED)) say(`  PROBLEM ${each}`);
        say(`  ${found.length} problems`);
        problems.push(...found.map((each) => `${name}: ${each}`));
      }
    } finally {
      requests.close();
      for (const tenant of tenants) tenant.close();
      await platform.stop();
    }
  }
  if (problems.length > 0) throw new Error(`${problems.length} problems; the first: ${problems[0]}`);
  say('Nothing was lost, duplicated or of another account, and every number was met.');
}

/**
 * Neighbours that can share a platform.
 * @param {readonly [string, import('./parts.mjs').Part][]} chosen
 * @returns {[string, import('./parts.mjs').Part][][]} no group is empty
 */
function groupsOf(chosen) {
  /** @type {[string, import('./parts.mjs').Part][][]} */
  const groups = [];
  for (const each of chosen) {
    const last = groups.at(-1)?.at(-1)?.[1];
    const [, part] = each;
    const isShared = last?.redis === part.redis && last.smallDisks === part.smallDisks && !part.beforeNewest;
    if (isShared) groups.at(-1)?.push(each);
    else groups.push([each]);
  }
  return groups;
}
