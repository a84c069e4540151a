// @ts-check
// `npm run drill`: everything is lost, restored to a point in time, and reconciled before anything is issued.
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { nodeBinary, workspaceRoot } from '../up/workspace.mjs';

const usage = `npm run drill -- [--orders N] [--node FILE] [--keep]

Follows docs/runbooks/backup-and-restore.md: orders are placed and issued, and PostgreSQL archives its log. Then every process
is killed, and databases, Redis and all other data are deleted, except for keys, backup and archive. The databases are
restored to a point before the last orders, compared with what was issued, and released. It fails when an attached
certificate is lost, one is issued or charged twice, a revocation is undone, or a webhook comes more than twice.

  --orders N   how many orders (default 500; the number that must be restored within ten minutes is 10,000)
  --node FILE  the Node.js that runs the processes (default: the one that npm installs)
  --keep       keeps data and logs in .certwright/drill`;

const { values } = parseArgs({
  options: {
    orders: { type: 'string', default: '500' },
    node: { type: 'string' },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const orders = Number(values.orders);
if (!/^\d{1,6}$/.test(values.orders) || orders < 20) {
  console.error(`--orders must be a whole number from 20 to 999999, not "${values.orders}".\n\n${usage}`);
  process.exit(2);
}
const folder = path.join(workspaceRoot, '.certwright/drill', String(process.pid));
mkdirSync(folder, { recursive: true });
// Read by the modules imported below. The second one also identifies all processes of the run.
Object.assign(process.env, { CERTWRIGHT_HOME: folder, CERTWRIGHT_TEST_RUN: folder });
const { clearRun } = await import('../test/run-services.mjs');
const { drill } = await import('./drill.mjs');
const stopping = new AbortController();
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
  process.once(signal, () => stopping.abort());
let exitCode = 1;
try {
  const running = drill({
    orders,
    node: path.resolve(values.node ?? nodeBinary()),
    signal: stopping.signal,
    say: (line) => console.log(line),
  });
  // A step may wait for minutes; clearRun ends its processes.
  const interrupted = once(stopping.signal, 'abort').then(() => Promise.reject(new Error('interrupted')));
  await Promise.race([running, interrupted]);
  exitCode = 0;
} catch (error) {
  console.error(error);
  console.error(`The logs are in ${folder}.`);
} finally {
  await clearRun(folder, { keepFiles: values.keep || exitCode !== 0 });
}
process.exit(exitCode);
