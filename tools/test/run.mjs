// `npm test`: every spec of the workspace, or of the projects named: `npm test -- libs/pki`. The last line is the count.
import { requireNode } from '../up/workspace.mjs';

requireNode();
const { installPackages } = await import('../up/workspace.mjs');
const { loopbackHint } = await import('./loopback.mjs');
const { stopRequest } = await import('../up/stop-request.mjs');

const signal = stopRequest();
let outcome = { passed: 0, failed: 0, fault: null };
try {
  await installPackages({ signal });
  const hint = await loopbackHint();
  if (hint !== null) console.log(hint);
  // Only now: it bundles, and the bundler is one of the packages.
  const { runJest } = await import('./jest-run.mjs');
  outcome = await runJest(process.argv.slice(2), signal);
} catch (error) {
  outcome.fault = error instanceof Error ? error.message : String(error);
}
const { passed, failed, fault } = outcome;
if (fault !== null) console.log(`\n${fault}`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(signal.aborted ? 130 : fault === null && failed === 0 ? 0 : 1);
