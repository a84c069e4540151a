// @ts-check
// `npm run alerts -- rules`: prints the alerts for a Prometheus without operator.
// `npm run alerts -- query`: starts a Prometheus that reads the processes of `npm start`, and queries every expression.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stringify } from 'yaml';
import { isRunning, readState } from '../up/home.mjs';
import { expressionErrors } from './check-expressions.mjs';
import { isInstalled, startPrometheus } from './prometheus.mjs';
import { alertGroups } from './rules.mjs';

/** At least two scrapes, with a margin for a loaded machine. */
const OBSERVED_MS = 15_000;

/** @returns {Promise<readonly string[]>} */
async function queryStarted() {
  const state = readState();
  if (state === undefined || !isRunning()) throw new Error('The platform does not run. Start it: npm start');
  if (!isInstalled()) throw new Error('prometheus is missing. Run tools/test/peers.sh as root.');
  const folder = mkdtempSync(path.join(tmpdir(), 'alerts-'));
  const targets = Object.values(state.ops).map((url) => new URL(url).host);
  const prometheus = await startPrometheus({ folder, targets, groups: alertGroups() });
  try {
    await delay(OBSERVED_MS);
    return await expressionErrors(prometheus);
  } finally {
    await prometheus.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const [command] = process.argv.slice(2);
if (command === 'rules') process.stdout.write(stringify({ groups: alertGroups() }));
else if (command === 'query') {
  const errors = await queryStarted();
  for (const error of errors) console.error(error);
  console.log(errors.length === 0 ? 'Every expression has a result.' : `${errors.length} errors`);
  process.exitCode = errors.length === 0 ? 0 : 1;
} else {
  console.error('Usage: npm run alerts -- rules | query');
  process.exitCode = 2;
}
