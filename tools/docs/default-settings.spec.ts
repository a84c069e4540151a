import { readFileSync } from 'node:fs';
import path from 'node:path';
import { settings as worker } from '../../apps/monitoring-worker/src/config';
import { settings as prober } from '../../apps/prober/src/config';

const operating = readFileSync(path.join(__dirname, '../../docs/operating.md'), 'utf8');

it('leaves more than half of prober to the questions of issuances, by the defaults that are documented', () => {
  const looks = worker.table.ENDPOINT_CHECKS_AT_ONCE.default ?? NaN;
  const questions = prober.table.PROBE_CONCURRENCY.default ?? NaN;
  expect(looks).toBeLessThan(questions / 2);
  expect(operating).toContain(`\`ENDPOINT_CHECKS_AT_ONCE\` (default ${looks})`);
  expect(operating).toContain(`\`PROBE_CONCURRENCY\` (default ${questions})`);
});
