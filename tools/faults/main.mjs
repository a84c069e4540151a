// @ts-check
// `npm run faults`: kills, stops and freezes PostgreSQL and Redis under load. No process may exit, and each must be ready
// and work again when both are up.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { LOWEST_NODE } from '../build/lowest-node.mjs';
import { nodeBinary, workspaceRoot } from '../up/workspace.mjs';

const usage = `npm run faults -- [--rounds N] [--seed N] [--node FILE | --lowest-node] [--keep]

  --rounds N     how often PostgreSQL and Redis are each disturbed, killed and restarted (default 20; 0: only one request
                 through each process)
  --seed N       determines the faults and their times (default: random; it is printed)
  --node FILE    the Node.js that runs the processes (default: the one that npm installs)
  --lowest-node  runs them on the lowest supported Node.js, which is fetched from the npm registry
  --keep         keeps data and logs in .certwright/faults`;

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

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6)) },
    node: { type: 'string' },
    'lowest-node': { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}

const folder = path.join(workspaceRoot, '.certwright/faults', String(process.pid));
mkdirSync(folder, { recursive: true });
// Read by the modules imported below. The second one also identifies all processes of the run.
Object.assign(process.env, { CERTWRIGHT_HOME: folder, CERTWRIGHT_TEST_RUN: folder });
const { clearRun } = await import('../test/run-services.mjs');
const { lowestNodeBinary, NotFetched } = await import('./lowest-node-binary.mjs');
const { rounds } = await import('./rounds.mjs');
const stopping = new AbortController();
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
  process.once(signal, () => stopping.abort());
let exitCode = 1;
try {
  await rounds({
    count: Number(values.rounds),
    seed: Number(values.seed),
    node: values['lowest-node'] ? await lowestNode() : path.resolve(values.node ?? nodeBinary()),
    signal: stopping.signal,
    say: (line) => console.log(line),
  });
  exitCode = 0;
} catch (error) {
  console.error(error);
  console.error(`The logs are in ${folder}.`);
} finally {
  await clearRun(folder, { keepFiles: values.keep || exitCode !== 0 });
}
process.exit(exitCode);
