// @ts-check
// `npm run faults`: kills, stops and freezes PostgreSQL and Redis under load. No process may exit, and each must be ready
// and work again when both are up. `npm run faults -- monitoring`: nothing that is monitored may be lost or reported twice.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { LOWEST_NODE } from '../build/lowest-node.mjs';
import { nodeBinary, workspaceRoot } from '../up/workspace.mjs';

const usage = `npm run faults -- [--rounds N] [--seed N] [--node FILE | --lowest-node] [--before-newest] [--keep]

  --rounds N     how often PostgreSQL and Redis are each disturbed, killed and restarted (default 20; 0: only one request
                 through each process)
  --seed N       determines the faults and their times (default: random; it is printed)
  --node FILE    the Node.js that runs the processes (default: the one that npm installs)
  --lowest-node  runs them on the lowest supported Node.js, which is fetched from the npm registry
  --before-newest  runs them on the schema before the newest migration of each database, as a rollback does
  --keep         keeps data and logs in .certwright/faults

npm run faults -- monitoring [part ...] [--rounds N] [--certificates N] [--seed N] [--node FILE] [--keep]

  Logs certificates for several accounts while faults are injected. It fails when an alert is lost, sent twice, or sent to
  the wrong account.

  part           one or more of these (default: all)
                   fail-over  the databases fail over to their replicas, and responses to commits are lost
                   kill       copies of the worker are killed and frozen, and Redis is emptied
                   restore    the index is restored from an hour-old copy, and its positions are used again
                   odd        certificates with many names, long names, markup and bidi controls
                   many       very many certificates of one account beside one of another account
                   stop       the worker is stopped for an hour, by shifting the time in the database
  --rounds N     how often each fault is injected (default 2)
  --certificates N
                 certificates of the part "many" (default 200,000)

npm run faults -- alerts [--node FILE] [--keep]

  Queries every expression of the alerts and dashboards at a Prometheus that reads the platform. Then it causes problems, and
  fails when the alert of one does not fire. Needs Debian's prometheus, which tools/test/peers.sh installs.`;

/** An unreachable registry does not fail the run: it prints a message and uses the usual Node.js. */
async function lowestNode() {
  try {
    return await lowestNodeBinary();
  } catch (error) {
    if (!(error instanceof NotFetched)) throw error;
    console.log(`Node.js ${LOWEST_NODE} cannot be fetched, so the usual one is used: ${error.message}`);
    return nodeBinary();
  }
}

/**
 * @param {string} option
 * @param {string} text
 */
function wholeNumber(option, text) {
  if (!/^\d{1,7}$/.test(text))
    throw new Error(`--${option} must be a whole number up to 9999999, not "${text}"`);
  return Number(text);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    certificates: { type: 'string', default: '200000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6)) },
    node: { type: 'string' },
    'lowest-node': { type: 'boolean', default: false },
    'before-newest': { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const [what, ...only] = positionals;
if (what !== undefined && what !== 'monitoring' && what !== 'alerts') {
  console.error(usage);
  process.exit(2);
}

const folder = path.join(workspaceRoot, '.certwright/faults', String(process.pid));
mkdirSync(folder, { recursive: true });
// Read by the modules imported below. The second one also identifies all processes of the run.
Object.assign(process.env, { CERTWRIGHT_HOME: folder, CERTWRIGHT_TEST_RUN: folder });
const { clearRun } = await import('../test/run-services.mjs');
const { lowestNodeBinary, NotFetched } = await import('./lowest-node-binary.mjs');
const { rounds } = await import('./rounds.mjs');
const { monitoring } = await import('./monitoring/run.mjs');
const { provokeAlerts } = await import('./alerts.mjs');
const stopping = new AbortController();
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
  process.once(signal, () => stopping.abort());
let exitCode = 1;
try {
  const how = {
    seed: Number(values.seed),
    beforeNewest: values['before-newest'],
    node: values['lowest-node'] ? await lowestNode() : path.resolve(values.node ?? nodeBinary()),
    signal: stopping.signal,
    say: (/** @type {string} */ line) => console.log(line),
  };
  const rounded = (/** @type {string} */ fallback) => wholeNumber('rounds', values.rounds ?? fallback);
  if (what === 'monitoring') {
    const certificates = wholeNumber('certificates', values.certificates);
    await monitoring({ ...how, only, rounds: rounded('2'), certificates });
  } else if (what === 'alerts') await provokeAlerts(how);
  else await rounds({ ...how, count: rounded('20') });
  exitCode = 0;
} catch (error) {
  console.error(error);
  console.error(`The logs are in ${folder}.`);
} finally {
  await clearRun(folder, { keepFiles: values.keep || exitCode !== 0 });
}
process.exit(exitCode);
