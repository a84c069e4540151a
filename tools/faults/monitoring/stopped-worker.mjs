// @ts-check
// The worker is stopped: what reports it, and what reports that it works again. Instead of waiting an hour, the time up to
// which everything was matched is moved into the past.
import { readFileSync } from 'node:fs';
import { places } from '../../up/home.mjs';
import { until } from '../until.mjs';

/** The watchdog looks every minute; on a loaded machine. */
const NOTICED_WITHIN_MS = 300_000;
const EVENTS = ['monitoring.behind', 'monitoring.caught_up'];

/** @param {import('./run.mjs').Run} all @returns {Promise<string[]>} problems */
export async function stoppedWorker({ platform, tenants, stream, say }) {
  const problems = [];
  const [tenant] = tenants.all;
  if (tenant === undefined) throw new Error('no account');
  const fronts = platform.fronts.map(({ name }) => name);
  // An index that was restored from an old copy is behind for a moment, too.
  await tenants.settled();
  const earlier = tenants.all.map((each) => EVENTS.map((event) => idsOf(each, event).size));
  const logSizes = new Map(fronts.map((name) => [name, logOf(name).length]));
  const newLog = (/** @type {string} */ name) => logOf(name).slice(logSizes.get(name));
  const begunMs = Date.now();
  const after = () => `${((Date.now() - begunMs) / 1_000).toFixed(0)} s`;
  const reported = async (
    /** @type {string} */ what,
    /** @type {() => Promise<boolean> | boolean} */ probe,
  ) => {
    const is = await until(probe, { what, withinMs: NOTICED_WITHIN_MS }).catch(() => false);
    if (is) say(`  after ${after()}: ${what}`);
    else problems.push(`not reported: ${what}`);
  };
  for (const worker of platform.workers) await worker.end('SIGTERM');
  await reported('status of each copy: watching is false', async () => {
    const all = await Promise.all(
      platform.fronts.map((_, copy) => tenant.monitoring('/status', undefined, copy)),
    );
    return all.every(({ watching }) => watching === false);
  });
  const age = async (/** @type {number} */ minutes) =>
    await platform.core.query(
      `UPDATE monitoring_follower SET followed_to = now() - make_interval(mins => $1), moved_at = now() - make_interval(mins => $1)`,
      [minutes],
    );
  say('  16 minutes behind:');
  await age(16);
  await reported('alarm monitoring_behind in the log of each front end', () =>
    fronts.every((name) => newLog(name).includes('"alarm":"monitoring_behind"')),
  );
  const behind = async () => await Promise.all(platform.fronts.map(behindSeconds));
  await reported('certwright_monitoring_behind_seconds above 900 at each front end', async () =>
    (await behind()).every((seconds) => seconds > 900),
  );
  const isNew = (/** @type {string} */ event) =>
    tenants.all.map((each, nth) => idsOf(each, event).size - (earlier[nth]?.[EVENTS.indexOf(event)] ?? 0));
  if (isNew('monitoring.behind').some((count) => count > 0))
    problems.push('monitoring.behind was sent after 16 minutes');
  say('  61 minutes behind:');
  await age(61);
  const having = (/** @type {string} */ event) => () => isNew(event).every((count) => count > 0);
  await reported('monitoring.behind at the webhook of every account', having('monitoring.behind'));
  await reported(
    'a mail to every account',
    async () => (await mails(platform, /behind|delayed/i)) >= tenants.all.length,
  );
  // So that each copy has had the occasion to notify the accounts.
  await reported('certwright_monitoring_behind_seconds above 3600 at each front end', async () =>
    (await behind()).every((seconds) => seconds > 3_600),
  );
  await stream.next();
  for (const worker of platform.workers) await worker.start();
  say('  the workers are started:');
  await reported('status of each copy: watching is true', async () => {
    const all = await Promise.all(
      platform.fronts.map((_, copy) => tenant.monitoring('/status', undefined, copy)),
    );
    return all.every(({ watching, lag_seconds }) => watching === true && lag_seconds < 60);
  });
  await reported('monitoring.caught_up at the webhook of every account', having('monitoring.caught_up'));
  await reported('alarm_over in the log of each front end', () =>
    fronts.every((name) => newLog(name).includes('"alarm_over":"monitoring_behind"')),
  );
  await tenants.settled();
  for (const event of EVENTS) {
    for (const [nth, count] of isNew(event).entries())
      if (count !== 1) problems.push(`${tenants.all[nth]?.name}: ${count} deliveries of ${event}`);
  }
  return [...problems, ...(await tenants.problems())];
}

/** @param {string} name of a process */
const logOf = (name) => readFileSync(places.log(name), 'utf8');

/** A retry has the same id. @param {import('./tenants.mjs').Tenant} tenant @param {string} event */
const idsOf = (tenant, event) => new Set(tenant.eventsOf(event).map(({ id }) => id));

/** @param {import('./platform.mjs').Copy} front */
async function behindSeconds({ metricsUrl }) {
  const text = await (await fetch(metricsUrl)).text();
  return Number(/^certwright_monitoring_behind_seconds(?:\{[^}]*\})? (\S+)/m.exec(text)?.[1] ?? NaN);
}

/**
 * @param {import('./platform.mjs').MonitoringPlatform} platform
 * @param {RegExp} subject
 * @returns {Promise<number>}
 */
async function mails(platform, subject) {
  /** @type {any} */
  const all = await (await fetch(`${platform.process('mailbox').url}/api/email`)).json();
  return all.filter((/** @type {any} */ mail) => subject.test(mail.subject)).length;
}
