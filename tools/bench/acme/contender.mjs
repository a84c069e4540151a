// One client of the benchmark in a process of its own, for all rounds: receives the names to issue, and reports the results.
//
// `node contender.mjs CLIENT` with an IPC channel. First message: the setting; reply: `{ ready }` or `{ missing }`. Every
// further message contains the orders of a round; reply: `{ issued, problems, seconds, cpuMs }`.
import { readFileSync } from 'node:fs';
import { ownCpuSeconds } from '../cpu-time.mjs';

/**
 * @typedef {object} Setting
 * @property {string} directoryUrl
 * @property {string} tlsRootFile PEM; also in NODE_EXTRA_CA_CERTS
 * @property {string} challengesUrl of pebble-challtestsrv
 * @property {string} resolver the same, for DNS
 * @property {string} presenterUrl for lego
 * @property {number} concurrency
 * @property {string} folder its own
 * @property {string} libraries where npm packages of the benchmark are
 * @property {Order} firstOrder to be issued before anything is measured
 *
 * @typedef {{ name: string, csrFile: string }} Order the CSR in PEM
 *
 * @typedef {object} Client
 * @property {(orders: readonly Order[]) => Promise<{ issued: number, problems: string[] }>} issue
 */

const [name] = process.argv.slice(2);
/** @type {Client | undefined} */
let client;

process.on('message', async (message) => {
  try {
    if (client === undefined) {
      const { open } = await import(`./clients/${name}.mjs`);
      client = await open(message);
      process.send({ ready: true });
    } else process.send(await round(client, message));
  } catch (error) {
    process.send({ missing: String(error?.message ?? error) });
  }
});

/** @param {Client} client @param {readonly Order[]} orders */
async function round(client, orders) {
  // Read before the measurement, so that they are in the cache.
  for (const { csrFile } of orders) readFileSync(csrFile);
  // Of this process and all its descendants, which have ended before and after a round.
  const before = ownCpuSeconds();
  const start = performance.now();
  const ended = await client.issue(orders);
  return {
    ...ended,
    seconds: (performance.now() - start) / 1_000,
    cpuMs: (ownCpuSeconds() - before) * 1_000,
  };
}
