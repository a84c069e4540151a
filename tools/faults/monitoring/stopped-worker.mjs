// @ts-check
// The worker is stopped: what reports it, and what reports that it works again. Instead of waiting an hour, the time up to
// which everything was matched is moved into the past.
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { places } from '../../up/home.mjs';
import { until } from '../until.mjs';

/** The watchdog looks every minute. */
const NOTICED_WITHIN_MS = 90_000;
/** A second copy of the front end looks once in this time. */
const BOTH_COPIES_MS = 65_000;

/** @param {import('./run.mjs').Run} all @returns {Promise<string[]>} problems */
export async function stoppedWorker({ platform, tenants, stream, say }) {
  const problems = [];
  const [tenant] = tenants.all;
  if (tenant === undefined) throw new Error('no account');
  const fronts = platform.fronts.map(({ name }) => name);
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
    fronts.every((name) => readFileSync(places.log(name), 'utf8').includes('"alarm":"monitoring_behind"')),
  );
  await reported('certwright_monitoring_behind_seconds above 900 at each front end', async () => {
    const values = await Promise.all(platform.fronts.map(behindSeconds));
    return values.every((value) => value > 900);
  });
  if (tenants.all.some((each) => each.eventsOf('monitoring.behind').length > 0))
    problems.push('monitoring.behind was sent after 16 minutes');
  say('  61 minutes behind:');
  await age(61);
  const having = (/** @type {string} */ event) => () =>
    tenants.all.every((each) => each.eventsOf(event).length > 0);
  await reported('monitoring.behind at the webhook of every account', having('monitoring.behind'));
  await reported(
    'a mail to every account',
    async () => (await mails(platform, /behind|delayed/i)) >= tenants.all.length,
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
    fronts.every((name) =>
      readFileSync(places.log(name), 'utf8').includes('"alarm_over":"monitoring_behind"'),
    ),
  );
  await delay(BOTH_COPIES_MS);
  for (const each of tenants.all) {
    for (const event of ['monitoring.behind', 'monitoring.caught_up']) {
      const count = new Set(each.eventsOf(event).map(({ id }) => id)).size;
      if (count !== 1) problems.push(`${each.name}: ${count} deliveries of ${event}`);
    }
  }
  await tenants.settled();
  return [...problems, ...(await tenants.problems())];
}

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
