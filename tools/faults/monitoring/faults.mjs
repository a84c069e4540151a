// @ts-check
// Parts of the run in which certificates are logged while faults are injected.
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { places } from '../../up/home.mjs';
import { until } from '../until.mjs';
import { followedPosition, lastPosition } from './platform.mjs';

/** @typedef {import('./run.mjs').Run} Run */

/** Share of the commits whose responses are lost. */
const LOST_COMMITS = 0.02;
const UNDISTURBED_MS = 6_000;
const KILL_EVERY_MS = 2_000;
const KILLS_PER_ROUND = 15;
/** Longer than the lease of the tasks in this run. */
const FROZEN_MS = 5_000;
const TAKEN_OVER_WITHIN_MS = 120_000;
/** The age of the copy of the index, by the times in both databases. */
const BACKUP_AGE = `interval '1 hour'`;
const REFUSALS = 0.05;

/**
 * Both databases fail over, and lose responses to commits.
 * @param {Run} all
 */
export async function failOvers(all) {
  const { platform, rounds, random } = all;
  const pairs = [platform.core, platform.ct];
  return await disturbed(all, async () => {
    for (let round = 0; round < rounds; round += 1) {
      for (const pair of pairs) {
        for (const each of pairs) each.link.loseCommits(() => random() < LOST_COMMITS);
        await delay(UNDISTURBED_MS);
        await pair.failOver();
        await delay(UNDISTURBED_MS);
        for (const each of pairs) each.link.loseCommits(() => false);
        await pair.addReplica();
      }
    }
    const lost = pairs.map(({ link }) => link.lost());
    all.say(
      `  ${rounds} fail-overs of each database, ${lost[0]} and ${lost[1]} responses to commits were lost (core, ct)`,
    );
  });
}

/**
 * A copy of the worker is killed every two seconds; copies are frozen for longer than their leases; Redis is emptied.
 * @param {Run} all
 */
export async function kills(all) {
  const { platform, tenants, rounds, random } = all;
  const { workers } = platform;
  tenants.refusals = REFUSALS;
  return await disturbed(all, async () => {
    let [killed, frozen, flushed, takenOver] = [0, 0, 0, 0];
    for (let round = 0; round < rounds; round += 1) {
      for (let nth = 0; nth < KILLS_PER_ROUND; nth += 1) {
        const victim = workers[nth % workers.length];
        await victim?.end('SIGKILL');
        await victim?.start();
        killed += 1;
        await delay(KILL_EVERY_MS);
        if (nth % 5 === 4) {
          await platform.flushRedis();
          flushed += 1;
        }
      }
      for (const worker of workers) await worker.untilReady();
      for (const worker of random() < 0.5 ? workers : [...workers].reverse()) {
        const before = await tokenOf(platform, 'following');
        worker.freeze();
        try {
          await delay(FROZEN_MS);
          // Of the other copy: the frozen one cannot extend its leases.
          if ((await tokenOf(platform, 'following')) !== before) takenOver += 1;
        } finally {
          worker.thaw();
        }
        frozen += 1;
      }
    }
    tenants.refusals = 0;
    all.say(
      `  ${killed} SIGKILL, ${frozen} SIGSTOP of at least ${FROZEN_MS / 1_000} s, ${flushed} FLUSHALL; ` +
        `the index was followed by another copy after ${takenOver} SIGSTOP`,
    );
    // Every copy is frozen in each round, so also the one that follows the index.
    if (takenOver === 0) throw new Error('no other copy followed the index while one was frozen');
  });
}

/**
 * Waits until a copy holds the lease.
 * @param {import('./platform.mjs').MonitoringPlatform} platform
 * @param {string} task
 * @returns {Promise<string>} its fencing token
 */
async function tokenOf({ core }, task) {
  const held = `SELECT lease_token AS token FROM monitoring_task WHERE task = $1 AND leased_until > clock_timestamp()`;
  return await until(async () => (await core.query(held, [task]))[0]?.token, {
    what: `a copy of the worker to take the task ${task}`,
    withinMs: TAKEN_OVER_WITHIN_MS,
  });
}

/**
 * The index is restored from a copy that is an hour old. Its positions are given to other certificates.
 * @param {Run} all
 */
export async function restoredIndex(all) {
  const { platform, rounds } = all;
  const { ct } = platform;
  return await disturbed(all, async () => {
    for (let round = 0; round < rounds; round += 1) {
      await age(platform);
      const last = await lastPosition(platform);
      const backup = await ct.backUp();
      await delay(2 * UNDISTURBED_MS);
      await until(async () => (await followedPosition(platform)) > last, {
        what: 'issuances to be matched that the copy lacks',
        withinMs: TAKEN_OVER_WITHIN_MS,
      });
      const before = await positionsOf(ct);
      const times = await restoredTimes(platform);
      await ct.restore(backup);
      await ct.addReplica();
      await until(async () => (await restoredTimes(platform)) > times, {
        what: 'alarm index_restored in the log of a worker',
        withinMs: TAKEN_OVER_WITHIN_MS,
      });
      await delay(2 * UNDISTURBED_MS);
      const after = new Map((await positionsOf(ct)).map(({ position, tbs }) => [position, tbs]));
      const reused = before.filter(({ position, tbs }) => after.has(position) && after.get(position) !== tbs);
      all.say(`  restored; ${reused.length} positions belong to other certificates than before`);
    }
  });
}

/**
 * As if an hour had passed since everything up to now was found.
 * @param {import('./platform.mjs').MonitoringPlatform} platform
 */
async function age({ core, ct }) {
  await ct.query(`UPDATE ct_issuance SET discovered_at = discovered_at - ${BACKUP_AGE}`);
  await core.query(`UPDATE monitoring_checkpoint SET created_at = created_at - ${BACKUP_AGE}`);
  await core.query(`UPDATE monitoring_finding SET found_at = found_at - ${BACKUP_AGE}`);
}

/** How often a worker logged it. @param {import('./platform.mjs').MonitoringPlatform} platform */
async function restoredTimes({ workers }) {
  const logs = workers.map(({ name }) => readFileSync(places.log(name), 'utf8'));
  return logs.join('').split('"alarm":"index_restored"').length - 1;
}

/** @param {import('./postgres-pair.mjs').PostgresPair} ct @returns {Promise<{ position: string, tbs: string }[]>} */
async function positionsOf(ct) {
  return await ct.query(`SELECT position, encode(tbs_sha256, 'hex') AS tbs FROM ct_issuance`);
}

/**
 * @param {Run} all
 * @param {() => Promise<void>} work
 * @returns {Promise<string[]>} problems
 */
async function disturbed({ platform, tenants, stream, say }, work) {
  const begunMs = Date.now();
  const { logged, problems } = await stream.during(work);
  await platform.untilReady();
  const overMs = Date.now();
  await tenants.settled();
  const latencies = tenants.all
    .flatMap((tenant) => tenant.latencies(begunMs))
    .sort((one, other) => one - other);
  const at = (/** @type {number} */ share) =>
    ((latencies[Math.floor(share * (latencies.length - 1))] ?? 0) / 1_000).toFixed(1);
  say(
    `  ${logged} certificates, ${latencies.length} alerts; p50 ${at(0.5)} s, p99 ${at(0.99)} s, longest ${at(1)} s; ` +
      `the last one ${((lastAlertMs(tenants) - overMs) / 1_000).toFixed(1)} s after the faults`,
  );
  const all = [...problems, ...(await tenants.problems())];
  const retries = tenants.all.reduce((sum, { deliveries }) => sum + deliveries.length, 0);
  const ids = new Set(tenants.all.flatMap(({ deliveries }) => deliveries.map(({ id }) => id))).size;
  say(`  so far ${retries} requests at the receiver for ${ids} deliveries`);
  return all;
}

/** @param {import('./tenants.mjs').Tenants} tenants */
function lastAlertMs({ all }) {
  return Math.max(
    0,
    ...all.flatMap((tenant) => [
      ...new Map(
        tenant
          .eventsOf('monitoring.unknown_certificate')
          .toReversed()
          .map(({ id, atMs }) => [id, atMs]),
      ).values(),
    ]),
  );
}
