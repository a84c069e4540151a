// @ts-check
// `npm run ha`: the platform with two copies of every app on servers that fail over.
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { unmountBelow } from '../embedded/mounts.mjs';
import { nodeBinary, workspaceRoot } from '../up/workspace.mjs';
import { requirePrograms } from './programs.mjs';

const usage = `npm run ha [-- [part ...] [--rate N] [--seed N] [--node FILE] [--keep]]

Runs two copies of every app behind HAProxy, which learns of an exit up to 2 s late. Behind them are PgBouncer (transaction mode), three
PostgreSQL servers under Patroni with etcd, and a Redis Cluster of six nodes or a Redis with Sentinels. Requests to every API
are sent at a fixed rate while parts fail. At the end rows are compared with what was acknowledged: each order has one
certificate, one charge and one webhook, of its own account. Everything listens on loopback. It takes about 20 minutes.

  part           one or more of these (default: all)
                   roll            every process is restarted, with the newest migrations in between; at least the
                                   requests of 120 s (24,000), none fails, and the 99th percentile is below 250 ms
                   primary         the PostgreSQL primary is killed; healthy 5 s after there is a new one
                   switchover      patronictl moves the primary
                   redis-cluster   the master that has the queues is killed; no request fails, queues flow within 15 s
                   cut             connections to PostgreSQL and Redis are refused, or silent
                   frozen          one copy of each app is stopped for longer than its leases
                   redis-sentinel  the master of the Sentinels is killed; as redis-cluster
                   disk            the disks of a gateway's audit log and of the PostgreSQL primary are full (needs root)
  --rate N       requests per second (default 200)
  --seed N       determines which copies are frozen, and for how long links are cut (default: random; it is printed)
  --node FILE    the Node.js that runs the processes (default: the one that npm installs)
  --keep         keeps data and logs in .certwright/ha`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rate: { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6)) },
    node: { type: 'string' },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const folder = path.join(workspaceRoot, '.certwright/ha', String(process.pid));
// Read by the modules imported below. The second one also identifies all processes of the run.
Object.assign(process.env, { CERTWRIGHT_HOME: folder, CERTWRIGHT_TEST_RUN: folder });
const { clearRun } = await import('../test/run-services.mjs');
const { randomFrom } = await import('../faults/rounds.mjs');
const { parts } = await import('./parts.mjs');
const { runParts } = await import('./run.mjs');
const { bundleAll } = await import('../up/programs.mjs');
const unknown = positionals.find((name) => !(name in parts));
if (unknown !== undefined) {
  console.error(`There is no part "${unknown}".\n\n${usage}`);
  process.exit(2);
}
const numbers = [values.rate, values.seed].map(Number);
if (!numbers.every((number) => Number.isInteger(number) && number >= 0) || numbers[0] === 0) {
  console.error(`--rate and --seed must be whole numbers, and --rate at least 1.\n\n${usage}`);
  process.exit(2);
}
const [perS = 0, seed = 0] = numbers;
const stopping = new AbortController();
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
  process.once(signal, () => stopping.abort());
let exitCode = 1;
try {
  requirePrograms();
  mkdirSync(folder, { recursive: true });
  console.log(`seed ${seed}; building`);
  await bundleAll();
  const running = runParts({
    ...{
      folder,
      perS,
      only: positionals,
      random: randomFrom(seed),
      node: path.resolve(values.node ?? nodeBinary()),
    },
    signal: stopping.signal,
    say: (/** @type {string} */ line) => console.log(line),
  });
  // A step may wait for minutes; clearRun ends its processes.
  const interrupted = once(stopping.signal, 'abort').then(() => Promise.reject(new Error('interrupted')));
  await Promise.race([running, interrupted]);
  exitCode = 0;
} catch (error) {
  console.error(error instanceof Error && error.cause === undefined ? error.message : error);
  console.error(`The logs are in ${folder}.`);
} finally {
  await unmountBelow(folder);
  await clearRun(folder, { keepFiles: values.keep || exitCode !== 0 });
}
process.exit(exitCode);
