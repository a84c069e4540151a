// @ts-check
// A Prometheus of Debian on loopback, for a short time, which reads the processes of one platform.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { httpProbe, launch, stopChild, untilReady } from '../embedded/child.mjs';
import { freePort, LOOPBACK } from '../embedded/ports.mjs';

const READY_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 10_000;
const QUERY_WITHIN_MS = 20_000;

/** Rates need two samples. A metric of a database may take 3 s. */
const SCRAPE_EVERY = '2s';
const SCRAPE_TIMEOUT = '2s';

export const isInstalled = () => spawnSync('prometheus', ['--version']).status === 0;

/**
 * @typedef {{ metric: Record<string, string>, value: [number, string] }} Sample
 *
 * @typedef {object} Prometheus
 * @property {(expression: string) => Promise<readonly Sample[]>} query
 * @property {() => Promise<ReadonlySet<string>>} firing names of alerts
 * @property {() => Promise<void>} stop
 */

/**
 * @param {object} what
 * @param {string} what.folder
 * @param {readonly string[]} what.targets addresses of `/metrics`, host and port
 * @param {readonly import('./rules.mjs').Group[]} what.groups
 * @param {AbortSignal} [what.signal]
 * @returns {Promise<Prometheus>}
 */
export async function startPrometheus({ folder, targets, groups, signal }) {
  mkdirSync(folder, { recursive: true });
  // JSON is YAML.
  writeFileSync(path.join(folder, 'rules.json'), JSON.stringify({ groups }));
  writeFileSync(
    path.join(folder, 'prometheus.json'),
    JSON.stringify({
      global: {
        scrape_interval: SCRAPE_EVERY,
        scrape_timeout: SCRAPE_TIMEOUT,
        evaluation_interval: SCRAPE_EVERY,
      },
      rule_files: ['rules.json'],
      // The operator adds the namespace.
      scrape_configs: [
        { job_name: 'certwright', static_configs: [{ targets, labels: { namespace: 'certwright' } }] },
      ],
    }),
  );
  const port = await freePort();
  const url = `http://${LOOPBACK}:${port}`;
  const child = await launch({
    command: 'prometheus',
    args: [
      `--config.file=${path.join(folder, 'prometheus.json')}`,
      `--storage.tsdb.path=${path.join(folder, 'data')}`,
      `--web.listen-address=${LOOPBACK}:${port}`,
      '--log.level=warn',
    ],
    logFile: path.join(folder, 'prometheus.log'),
  });
  const stop = () => stopChild(child, { graceMs: STOP_WITHIN_MS });
  try {
    await untilReady(httpProbe(`${url}/-/ready`), {
      child,
      what: 'Prometheus',
      withinMs: READY_WITHIN_MS,
      signal,
    });
  } catch (error) {
    await stop();
    throw error;
  }
  const query = async (/** @type {string} */ expression) => {
    const response = await fetch(`${url}/api/v1/query`, {
      method: 'POST',
      body: new URLSearchParams({ query: expression }),
      signal: AbortSignal.timeout(QUERY_WITHIN_MS),
    });
    const { status, error, data } =
      /** @type {{ status: string, error?: string, data?: { result: Sample[] } }} */ (await response.json());
    if (status !== 'success' || data === undefined) throw new Error(error);
    return data.result;
  };
  const firing = async () => {
    const samples = await query('ALERTS{alertstate="firing"}');
    return new Set(samples.map(({ metric }) => metric['alertname'] ?? ''));
  };
  return { query, firing, stop };
}
