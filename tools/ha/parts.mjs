// @ts-check
// The parts of `npm run ha`: what happens while the load runs, and what must hold.
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../faults/until.mjs';
import { LEARNS_LATE_MS } from './balancer.mjs';
import { fillDisk } from './disk.mjs';
import { startLoad } from './load.mjs';
import { cutRedis } from './redis-links.mjs';
import { percentile, tableOf } from './requests.mjs';
import { startRepeating } from './tenant.mjs';

const S = 1_000;
/** Before the first fault, and after the last one. */
const CALM_MS = 10 * S;
const HEALTHY_WITHIN_MS = 5 * S;
const QUEUES_WITHIN_MS = 15 * S;
const READY_WITHIN_MS = 120 * S;
const PROBE_EVERY_MS = 100;
/** Apps that are restarted at the same time. */
const LANES = 2;
/** Of the rolling restart. */
const ROLL = { seconds: 120, maxP99Ms: 250 };
/** Longer than every lease and health check. */
const FROZEN_MS = 75 * S;
/** Of the requests that were not served, the last ones. */
const LAST_SHOWN = 12;
/** A request that takes longer was sent to a frozen copy, which the balancer had not noticed yet. */
const WAITED_MS = 10 * S;

/**
 * @typedef {object} Run
 * @property {import('./platform.mjs').HaPlatform} platform
 * @property {readonly import('./tenant.mjs').Tenant[]} tenants
 * @property {import('./requests.mjs').Requests} requests
 * @property {number} perS
 * @property {() => number} random
 * @property {(line: string) => void} say
 *
 * @typedef {object} Part
 * @property {'cluster' | 'sentinel'} redis
 * @property {boolean} [beforeNewest] starts with the newest migrations pending
 * @property {boolean} [smallDisks] PostgreSQL and a gateway have small disks of their own
 * @property {(run: Run) => Promise<string[]>} run problems
 */

/** By name, in their order. @type {Readonly<Record<string, Part>>} */
export const parts = {
  roll: { redis: 'cluster', beforeNewest: true, run: roll },
  primary: { redis: 'cluster', run: killPrimary },
  switchover: { redis: 'cluster', run: switchOver },
  'redis-cluster': { redis: 'cluster', run: killRedisMaster },
  cut: { redis: 'cluster', run: cutLinks },
  frozen: { redis: 'cluster', run: freeze },
  'redis-sentinel': { redis: 'sentinel', run: killRedisMaster },
  disk: { redis: 'cluster', smallDisks: true, run: fullDisk },
};

/**
 * The load runs during `faults`. Afterwards rows are compared.
 * @param {Run} run
 * @param {{ mayRefuse: boolean, mayFail?: boolean }} allowed mayRefuse: 503 with Retry-After. mayFail: a request to a frozen copy has waited so long that it may fail
 * @param {() => Promise<string[]>} faults
 */
async function underLoad({ platform, tenants, requests, perS, say }, { mayRefuse, mayFail = false }, faults) {
  for (const tenant of tenants) tenant.prepare(200);
  requests.outcomes = [];
  const begunMs = Date.now();
  const load = startLoad(tenants, perS);
  const repeating = startRepeating(tenants);
  const found = await faults().finally(async () => {
    await load.stop();
    await repeating.stop();
  });
  const { outcomes } = requests;
  for (const line of tableOf(outcomes)) say(`  ${line}`);
  const bad = outcomes.filter(({ result, ms }) => {
    if (result === 'failed') return !mayFail || ms < WAITED_MS;
    return result === 'refused' && !mayRefuse;
  });
  const requestProblems = bad.map(
    ({ kind, status, text, atMs }) =>
      `${kind}: ${status} after ${((atMs - begunMs) / S).toFixed(1)} s ${text}`,
  );
  await platform.untilReady();
  const rows = (await Promise.all(tenants.map(async (tenant) => await tenant.problems()))).flat();
  for (const tenant of tenants) say(`  ${tenant.summary()}`);
  return [
    ...found,
    ...requestProblems,
    ...rows,
    ...platform.ended().map((each) => `a process has exited: ${each}`),
  ];
}

/** Every app, one copy after the other, and the newest migrations in the middle. @param {Run} run */
async function roll(run) {
  const { platform, requests, perS, say } = run;
  const problems = await underLoad(run, { mayRefuse: false }, async () => {
    const found = /** @type {string[]} */ ([]);
    await delay(CALM_MS);
    const half = Math.ceil(platform.apps.length / 2);
    const begunMs = Date.now();
    await inLanes(platform.apps.slice(0, half), async (app) => void found.push(...(await restart(app))));
    const migrated = await platform.migrate();
    const names = migrated.match(/(?<=migrated (?:core|ct): )\S+/g) ?? [];
    say(`  migrated after ${((Date.now() - begunMs) / S).toFixed(0)} s: ${names.join(', ')}`);
    if (names.length < 2) found.push('no migration was pending in core or in ct');
    await inLanes(platform.apps.slice(half), async (app) => void found.push(...(await restart(app))));
    say(`  restarted ${2 * platform.apps.length} processes in ${((Date.now() - begunMs) / S).toFixed(0)} s`);
    while (requests.outcomes.length < ROLL.seconds * perS) await delay(PROBE_EVERY_MS);
    return found;
  });
  const p99 = percentile(
    requests.outcomes.filter(({ isLongPoll }) => !isLongPoll),
    0.99,
  );
  if (p99 >= ROLL.maxP99Ms)
    problems.push(`the 99th percentile is ${p99.toFixed(0)} ms, not below ${ROLL.maxP99Ms} ms`);
  return problems;
}

/** @param {import('./platform.mjs').App} app */
async function restart({ copies }) {
  const problems = [];
  for (const copy of copies) {
    const how = await copy.end('SIGTERM');
    if (how !== 'exit code 0') problems.push(`${copy.name} ended with ${how} after SIGTERM`);
    await copy.start();
    await copy.untilReady();
    // The balancer learns of it.
    await delay(LEARNS_LATE_MS + S);
  }
  return problems;
}

/**
 * @template T
 * @param {readonly T[]} all
 * @param {(each: T) => Promise<void>} work
 */
async function inLanes(all, work) {
  const waiting = [...all];
  const lane = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

/** @param {Run} run */
async function killPrimary(run) {
  const { postgres } = run.platform;
  return await underLoad(run, { mayRefuse: true }, async () => {
    await delay(CALM_MS);
    const before = await postgres.requiredPrimary();
    const faultMs = Date.now();
    await postgres.kill(before);
    const now = await postgres.requiredPrimary();
    const problems = await healthyAgain(run, {
      faultMs,
      what: `${before.name} was killed; ${now.name} is the primary`,
    });
    await postgres.revive(before);
    await postgres.untilSynchronous();
    return problems;
  });
}

/** @param {Run} run */
async function switchOver(run) {
  const { postgres } = run.platform;
  return await underLoad(run, { mayRefuse: true }, async () => {
    await delay(CALM_MS);
    const faultMs = Date.now();
    const now = await postgres.switchover();
    const problems = await healthyAgain(run, { faultMs, what: `switchover to ${now.name}` });
    await postgres.untilSynchronous();
    return problems;
  });
}

/**
 * From the moment at which a new primary exists until every copy is ready and no request fails any more.
 * @param {Run} run
 * @param {{ faultMs: number, what: string }} fault
 */
async function healthyAgain({ platform, requests, say }, { faultMs, what }) {
  const primaryMs = Date.now();
  await platform.untilReady();
  const readyMs = Date.now();
  await delay(CALM_MS);
  const bad = requests.outcomes.filter(({ result, atMs }) => result !== 'ok' && atMs >= faultMs);
  const lastMs = Math.max(faultMs, ...bad.map(({ atMs }) => atMs));
  const seconds = (/** @type {number} */ ms) => `${(ms / S).toFixed(1)} s`;
  say(
    `  ${what} after ${seconds(primaryMs - faultMs)}; then every copy was ready after ${seconds(readyMs - primaryMs)}, ` +
      `the last request that was not served ended after ${seconds(Math.max(0, lastMs - primaryMs))}; refused: ${bad.length}`,
  );
  for (const { kind, status, atMs, ms, text } of bad.slice(-LAST_SHOWN))
    say(`    ${kind}: ${status} at ${seconds(atMs - primaryMs)}, sent ${seconds(ms)} before: ${text}`);
  const healthyMs = Math.max(readyMs, lastMs) - primaryMs;
  return healthyMs <= HEALTHY_WITHIN_MS
    ? []
    : [`healthy ${seconds(healthyMs)} after the new primary, not within ${seconds(HEALTHY_WITHIN_MS)}`];
}

/** @param {Run} run */
async function killRedisMaster(run) {
  const { platform, tenants, say } = run;
  const [tenant] = tenants;
  return await underLoad(run, { mayRefuse: false }, async () => {
    await delay(CALM_MS);
    const begunMs = Date.now();
    const { killed, replaced } = await platform.redis.killMaster();
    await delay(S);
    const name = await tenant?.order();
    const issued = until(async () => await tenant?.isIssued(String(name)), {
      what: 'a certificate',
      withinMs: READY_WITHIN_MS,
    });
    await replaced();
    const replacedMs = Date.now() - begunMs;
    await issued;
    const issuedMs = Date.now() - begunMs;
    say(
      `  the master at port ${killed} was killed; another one was elected after ${(replacedMs / S).toFixed(1)} s; ` +
        `an order that arrived 1 s after the kill was issued after ${(issuedMs / S).toFixed(1)} s`,
    );
    await platform.untilReady();
    await delay(CALM_MS);
    await platform.redis.restoreAll();
    await delay(CALM_MS);
    return issuedMs <= QUEUES_WITHIN_MS ? [] : [`queues took ${(issuedMs / S).toFixed(1)} s`];
  });
}

/** Connections to PgBouncer and to Redis are reset and refused, or nothing passes while they stay open. @param {Run} run */
async function cutLinks(run) {
  const { platform, random, say } = run;
  const redis = await cutRedis(platform.redis.ports);
  try {
    return await underLoad(run, { mayRefuse: true }, async () => {
      await delay(CALM_MS);
      const links = [
        { name: 'PostgreSQL', link: platform.links },
        { name: 'Redis', link: redis },
      ];
      for (const { name, link } of links)
        for (const how of /** @type {const} */ (['cut', 'swallow'])) {
          const ms = 2 * S + random() * 6 * S;
          link[how]();
          await delay(ms);
          link.heal();
          const healedMs = Date.now();
          await platform.untilReady();
          say(
            `  ${name} ${how === 'cut' ? 'refused' : 'silent'} for ${(ms / S).toFixed(1)} s; every copy was ready ${((Date.now() - healedMs) / S).toFixed(1)} s later`,
          );
          await delay(CALM_MS);
        }
      return [];
    });
  } finally {
    await redis.close();
  }
}

/** One copy of every app is stopped for longer than its leases, and continues. @param {Run} run */
async function freeze(run) {
  const { platform, random, say } = run;
  const frozen = platform.apps.map(({ copies }) => copies[Math.floor(random() * copies.length)]);
  return await underLoad(run, { mayRefuse: true, mayFail: true }, async () => {
    await delay(CALM_MS);
    for (const copy of frozen) copy?.freeze();
    await delay(FROZEN_MS);
    for (const copy of frozen) copy?.thaw();
    const begunMs = Date.now();
    await platform.untilReady();
    say(
      `  one copy of each app was frozen for ${FROZEN_MS / S} s; ready ${((Date.now() - begunMs) / S).toFixed(1)} s later`,
    );
    await delay(CALM_MS);
    return [];
  });
}

/** @param {Run} run */
async function fullDisk(run) {
  const { platform, say } = run;
  return await underLoad(run, { mayRefuse: true }, async () => {
    await delay(CALM_MS);
    for (const { name, folder, copy } of await disksOf(platform)) {
      const free = fillDisk(folder);
      await delay(CALM_MS);
      free();
      const begunMs = Date.now();
      // As docs/runbooks/outages.md says: a gateway continues its audit log only after a restart, which verifies it.
      if (copy !== undefined) {
        await copy.end('SIGTERM');
        await copy.start();
      }
      await platform.untilReady();
      await platform.postgres.untilSynchronous();
      say(
        `  the disk of ${name} was full for ${CALM_MS / S} s; ready ${((Date.now() - begunMs) / S).toFixed(1)} s later`,
      );
      await delay(CALM_MS);
    }
    return [];
  });
}

/** @param {import('./platform.mjs').HaPlatform} platform */
async function disksOf({ postgres, gatewayDisk, apps }) {
  const { name, folder } = await postgres.requiredPrimary();
  const copy = apps.flatMap(({ copies }) => copies).find((each) => each.name === gatewayDisk.name);
  return [
    { name: `the audit log of ${gatewayDisk.name}`, folder: gatewayDisk.folder, copy },
    { name: `the primary ${name}`, folder },
  ];
}
