// `npm run bench -- <name>`: runs one benchmark together with a baseline, and writes its tables to
// docs/benchmarks.md. Not a test: numbers depend on the machine, ratios less.
import { agents } from './agents/agents.mjs';
import { acme } from './acme/acme.mjs';
import { certs } from './certs/certs.mjs';
import { ct } from './ct/ct.mjs';
import { gateway } from './gateway/gateway.mjs';
import { issuance } from './issuance/issuance.mjs';
import { managed } from './managed/managed.mjs';
import { monitoring } from './monitoring/monitoring.mjs';
import { overload } from './overload/overload.mjs';
import { writeSection } from './report.mjs';
import { requests } from './requests/requests.mjs';
import { rest } from './rest/rest.mjs';
import { webhooks } from './webhooks/webhooks.mjs';

const benchmarks = {
  acme,
  agents,
  certs,
  ct,
  gateway,
  issuance,
  managed,
  monitoring,
  overload,
  requests,
  rest,
  webhooks,
};

const [name, ...args] = process.argv.slice(2);
const benchmark = benchmarks[name];
if (benchmark === undefined) {
  console.error(`Usage: npm run bench -- <${Object.keys(benchmarks).join('|')}> [--help]`);
  process.exit(2);
}
const sections = await benchmark(args);
for (const section of sections === undefined ? [] : [sections].flat()) {
  console.log(`\n${section.text}`);
  await writeSection(section);
}
