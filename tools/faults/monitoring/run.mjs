// @ts-check
// `npm run faults -- monitoring`: certificates are logged while the databases fail over and lose responses to commits, the
// worker is killed and frozen, Redis is emptied, and the index is restored from a backup. Each account must get one delivery
// for each certificate that it does not know, and nothing else.
import { run } from '../../embedded/child.mjs';
import { randomFrom } from '../rounds.mjs';
import { failOvers, kills, restoredIndex } from './faults.mjs';
import { manyMatches } from './many-matches.mjs';
import { oddCertificates } from './odd-certificates.mjs';
import { startMonitoring } from './platform.mjs';
import { stoppedWorker } from './stopped-worker.mjs';
import { Stream } from './stream.mjs';
import { Tenants } from './tenants.mjs';

/** By name, in their order. */
const parts = {
  'fail-over': failOvers,
  kill: kills,
  restore: restoredIndex,
  odd: oddCertificates,
  many: manyMatches,
  stop: stoppedWorker,
};

/**
 * @typedef {object} Run
 * @property {import('./platform.mjs').MonitoringPlatform} platform
 * @property {Tenants} tenants
 * @property {Stream} stream
 * @property {() => number} random
 * @property {number} rounds
 * @property {number} certificates of the account that has very many
 * @property {(line: string) => void} say
 */

/**
 * @param {{ only: readonly string[], rounds: number, certificates: number, seed: number, node: string, signal: AbortSignal, say: (line: string) => void }} how
 * @throws {Error} when something was lost, duplicated or sent to the wrong account
 */
export async function monitoring({ only, rounds, certificates, seed, node, signal, say }) {
  const unknown = only.find((name) => !(name in parts));
  if (unknown !== undefined) throw new Error(`there is no part "${unknown}"; see --help`);
  const { stdout } = await run(node, ['--version']);
  say(`seed ${seed}, processes on Node.js ${stdout.trim()}`);
  const random = randomFrom(seed);
  const platform = await startMonitoring({ node, signal, say });
  const tenants = new Tenants(platform, random);
  try {
    await tenants.listen();
    const stream = await Stream.open(tenants, random);
    const all = { platform, tenants, stream, random, rounds, certificates, say };
    /** @type {string[]} */
    const problems = [];
    for (const [name, part] of Object.entries(parts)) {
      if (only.length > 0 && !only.includes(name)) continue;
      signal.throwIfAborted();
      say(`${name}:`);
      const found = [
        ...(await part(all)),
        ...platform.ended().map((each) => `a process has exited: ${each}`),
      ];
      for (const each of found.slice(0, 50)) say(`  PROBLEM ${each}`);
      problems.push(...found);
    }
    if (problems.length > 0) throw new Error(`${problems.length} problems; the first: ${problems[0]}`);
    say('Nothing was lost, duplicated or sent to the wrong account.');
  } finally {
    tenants.close();
    await platform.stop();
  }
}
