import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(__dirname, '../..');

it('numbers each advisory lock once: what share a number wait for each other', () => {
  const numbers = globSync('{apps,libs,tools}/**/*.ts', { cwd: root })
    .filter((file) => !file.includes('node_modules') && !file.endsWith('.spec.ts'))
    .flatMap((file) => readFileSync(path.join(root, file), 'utf8').match(/\b7_308_604_\d{3}\b/g) ?? []);
  expect(numbers.length).toBeGreaterThan(3);
  expect(numbers.toSorted()).toEqual([...new Set(numbers)].sort());
});
