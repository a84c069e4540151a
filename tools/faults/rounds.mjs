// @ts-check
import { setTimeout as delay } from 'node:timers/promises';
import { isInstalled } from '../alerts/prometheus.mjs';
import { run } from '../embedded/child.mjs';
import { checkExpressions, observing } from './alerts.mjs';
import { Customer } from './customer.mjs';
import { postgresDisturbances, postgresRestarts, redisDisturbances, redisRestarts } from './inject.mjs';
import { startLoad } from './load.mjs';
import { startPlatform } from './platform.mjs';

/** A fault begins within the first time and lasts up to the second. */
const MAX_DELAY_MS = 1_500;
const MAX_DURATION_MS = 3_000;

/**
 * @param {{ count: number, seed: number, beforeNewest: boolean, node: string, signal: AbortSignal, say: (line: string) => void }} how
 * @throws {Error} when a process has exited, or does not work although PostgreSQL and Redis are up
 */
export async function rounds({ count, seed, beforeNewest, node, signal, say }) {
  const { stdout } = await run(node, ['--version']);
  say(`${count} rounds, seed ${seed}, processes on Node.js ${stdout.trim()}`);
  const random = randomFrom(seed);
  const platform = await startPlatform({ node, beforeNewest, signal, say });
  const customer = new Customer(platform);
  // A metric of a table of the newest migration is missing without it.
  const isObserved = isInstalled() && !beforeNewest;
  const prometheus = isObserved ? await observing(platform, signal) : null;
  try {
    await customer.setUp();
    say(`before: ${await customer.checkWork()}`);
    for (let round = 1; round <= count; round += 1) {
      signal.throwIfAborted();
      const load = startLoad(customer);
      const postgres = randomFaults(platform, random, postgresDisturbances, postgresRestarts);
      const redis = randomFaults(platform, random, redisDisturbances, redisRestarts);
      say(`round ${round}: ${[...postgres.names, ...redis.names].join(', ')}`);
      await Promise.all([postgres.run(), redis.run()]);
      const begun = Date.now();
      await platform.untilReady();
      const ready = ((Date.now() - begun) / 1000).toFixed(1);
      await load.stop();
      say(load.counts());
      requireAlive(platform);
      say(`  ready after ${ready} s; then: ${await customer.checkWork()}`);
      requireAlive(platform);
      if (load.errors().length > 0) throw new Error(`responses with 500:\n${load.errors().join('\n')}`);
    }
    say('No process has exited.');
    if (prometheus !== null) await checkExpressions(prometheus, say);
    else if (!beforeNewest)
      say('Expressions of alerts and dashboards are not checked: prometheus is missing.');
  } finally {
    customer.close();
    await prometheus?.stop();
  }
}

/** @param {import('./platform.mjs').Platform} platform */
function requireAlive({ ended }) {
  if (ended().length > 0) throw new Error(`These processes have exited: ${ended().join(', ')}`);
}

/**
 * One disturbance and one restart of a store, at independent times.
 * @param {import('./platform.mjs').Platform} platform
 * @param {() => number} random
 * @param {...readonly import('./inject.mjs').Fault[]} kinds
 */
function randomFaults({ stores }, random, ...kinds) {
  const chosen = kinds.map((faults) => ({
    fault: /** @type {import('./inject.mjs').Fault} */ (faults[Math.floor(random() * faults.length)]),
    afterMs: random() * MAX_DELAY_MS,
    downMs: random() * MAX_DURATION_MS,
  }));
  return {
    names: chosen.map(({ fault, downMs }) => `${fault.name} (${(downMs / 1000).toFixed(1)} s)`),
    run: async () => {
      for (const { fault, afterMs, downMs } of chosen) {
        await delay(afterMs);
        await fault.inject(stores, downMs, random);
      }
    },
  };
}

/** mulberry32: the same faults for the same seed. @param {number} seed */
export function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
