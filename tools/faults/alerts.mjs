// @ts-check
// `npm run faults -- alerts`: a Prometheus reads every process. Each expression must have a result; then each problem below is
// caused, and its alerts must fire.
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { absentSeries, expressionErrors } from '../alerts/check-expressions.mjs';
import { isInstalled, startPrometheus } from '../alerts/prometheus.mjs';
import { alertGroups } from '../alerts/rules.mjs';
import { apps } from '../up/apps.mjs';
import { home } from '../up/home.mjs';
import { Customer } from './customer.mjs';
import { CT_DATABASE, startPlatform } from './platform.mjs';
import { until } from './until.mjs';

/** Scrapes and evaluations on a loaded machine, and the age over which the oldest wake-up is late. */
const FIRES_WITHIN_MS = 150_000;
/** Two scrapes of a loaded machine: rates need two samples. */
const OBSERVED_WITHIN_MS = 60_000;
const EVERY_MS = 1_000;

/**
 * @typedef {object} Problem
 * @property {string} name
 * @property {readonly string[]} alerts which must fire
 * @property {(platform: import('./platform.mjs').Platform, customer: Customer) => Promise<unknown>} cause
 * @property {(platform: import('./platform.mjs').Platform) => Promise<unknown>} [end] not at the end of the run
 */

/** @type {readonly Problem[]} in their order: a stopped process is not started again */
export const problems = [
  {
    name: 'an inconsistent log',
    alerts: ['CertwrightLogStopped'],
    cause: ({ stores }) =>
      execute(
        stores.postgres().url(CT_DATABASE),
        `UPDATE ct_log SET stopped_at = now(), stopped_reason = 'fork' WHERE id = (SELECT min(id) FROM ct_log)`,
      ),
  },
  {
    name: 'a hold of reports about endpoints',
    alerts: ['CertwrightEndpointReportsHeld'],
    cause: ({ stores }) =>
      execute(stores.postgres().url(), `INSERT INTO endpoint_hold (counted_from) VALUES (now())`),
  },
  {
    name: 'Redis stopped, and an order',
    alerts: ['CertwrightRedisUnavailable', 'CertwrightCopyNotReady', 'CertwrightOutboxLate'],
    cause: async ({ stores }, customer) => {
      await stores.redis().stop();
      await customer.order(customer.newName());
    },
    end: async ({ stores }) => await stores.restartRedis(),
  },
  {
    name: 'PostgreSQL stopped, and requests',
    alerts: ['CertwrightDatabaseUnavailable', 'CertwrightMetricsMissing', 'CertwrightApiErrors'],
    cause: async ({ stores, url }, customer) => {
      await stores.postgres().stop();
      for (let request = 0; request < 100; request += 1)
        await customer.send(`${url('orders-v3', 'http')}/api/v3/orders/missing`);
    },
    end: async ({ stores }) => await stores.restartPostgres(),
  },
  {
    name: 'dns-gateway and prober stopped',
    alerts: ['CertwrightGatewayDown', 'CertwrightProcessMissing'],
    cause: async ({ stop }) => {
      await stop('dns-gateway');
      await stop('prober');
    },
  },
];

/** @param {string} connectionString @param {string} statement */
async function execute(connectionString, statement) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Without the time for which a problem must last. */
const impatient = () =>
  alertGroups().map((group) => ({
    ...group,
    rules: group.rules.map(({ for: _lasts, ...rule }) => rule),
  }));

/**
 * @param {import('./platform.mjs').Platform} platform
 * @param {AbortSignal} signal
 */
export async function observing({ url }, signal) {
  const observed = apps.filter(({ ports }) => 'ops' in ports);
  const targets = observed.map(({ name }) => new URL(url(name, 'ops')).host);
  return await startPrometheus({
    folder: path.join(home, 'prometheus'),
    targets,
    groups: impatient(),
    signal,
  });
}

/**
 * @param {{ node: string, signal: AbortSignal, say: (line: string) => void }} how
 * @throws {Error} when an expression has no result, or an alert does not fire
 */
export async function provokeAlerts({ node, signal, say }) {
  if (!isInstalled())
    return say('Skipped: prometheus is missing. Install it, or run tools/test/peers.sh as root.');
  const platform = await startPlatform({ node, signal, say });
  const customer = new Customer(platform);
  const prometheus = await observing(platform, signal);
  try {
    await customer.setUp();
    say(`before: ${await customer.checkWork()}`);
    await checkExpressions(prometheus, say);
    for (const problem of problems) {
      signal.throwIfAborted();
      await provoke(problem, { platform, customer, prometheus, say });
    }
    say('Every alert has fired.');
  } finally {
    customer.close();
    await prometheus.stop();
  }
}

/**
 * @param {import('../alerts/prometheus.mjs').Prometheus} prometheus
 * @param {(line: string) => void} say
 */
export async function checkExpressions(prometheus, say) {
  const deadline = Date.now() + OBSERVED_WITHIN_MS;
  let errors = await expressionErrors(prometheus);
  while (errors.length > 0 && Date.now() < deadline) {
    await delay(EVERY_MS);
    errors = await expressionErrors(prometheus);
  }
  if (errors.length > 0) throw new Error(`expressions without a result:\n${errors.join('\n')}`);
  say(`Every expression has a result; ${absentSeries.size} series may be absent.`);
}

/**
 * @param {Problem} problem
 * @param {{ platform: import('./platform.mjs').Platform, customer: Customer, prometheus: import('../alerts/prometheus.mjs').Prometheus, say: (line: string) => void }} run
 */
async function provoke({ name, alerts, cause, end }, { platform, customer, prometheus, say }) {
  const before = await prometheus.firing();
  const early = alerts.filter((alert) => before.has(alert));
  if (early.length > 0) throw new Error(`before ${name}, these fire: ${early.join(', ')}`);
  const begun = Date.now();
  await cause(platform, customer);
  /** @type {Map<string, number>} */
  const fired = new Map();
  await until(
    async () => {
      for (const alert of await prometheus.firing())
        if (!fired.has(alert)) fired.set(alert, (Date.now() - begun) / 1000);
      return alerts.every((alert) => fired.has(alert));
    },
    { what: `${alerts.join(', ')} to fire`, withinMs: FIRES_WITHIN_MS },
  );
  say(`${name}: ${alerts.map((alert) => `${alert} after ${fired.get(alert)?.toFixed(1)} s`).join(', ')}`);
  if (end === undefined) return;
  await end(platform);
  await platform.untilReady();
}
