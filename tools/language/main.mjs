// @ts-check
// `npm run language`: fails when a project has more listed words than baseline.json allows.
// `npm run language -- --list [path]`: prints where they are. `npm run language -- --lower`: stores smaller numbers.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { compare, lowered } from './baseline.mjs';
import { findingsByProject } from './projects.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const baselineFile = path.join(root, 'tools/language/baseline.json');

const [option, place = ''] = process.argv.slice(2);
const findings = findingsByProject(root);
if (option === '--list') list(place);
else if (option === '--lower') lower();
else if (option === undefined) check();
else {
  console.error(`Unknown option ${option}; use --list [path] or --lower.`);
  process.exitCode = 2;
}

/** @param {string} below path from the root of the workspace; empty: everything */
function list(below) {
  for (const { file, line, word, text } of [...findings.values()].flat()) {
    if (file.startsWith(below)) console.log(`${file}:${line}: "${word}" in: ${text}`);
  }
}

function lower() {
  const next = `${JSON.stringify(lowered(baseline(), counts()), null, 2)}\n`;
  writeFileSync(baselineFile, next);
}

function check() {
  const { above, below, removed } = compare(baseline(), counts());
  for (const { project, count, allowed } of above) {
    console.error(
      `${project}: ${count} listed words, at most ${allowed} allowed. Find them: npm run language -- --list ${project}`,
    );
  }
  if (below.length + removed.length > 0) {
    const projects = [...below.map(({ project }) => project), ...removed].join(', ');
    console.log(`Fewer listed words than the baseline in ${projects}. Lower it: npm run language -- --lower`);
  }
  if (above.length === 0) return;
  console.error(
    'CONTRIBUTING.md lists the words and what to write instead, and says how to allow a quotation.',
  );
  process.exitCode = 1;
}

/** @returns {import('./baseline.mjs').Baseline} */
function baseline() {
  return JSON.parse(readFileSync(baselineFile, 'utf8'));
}

/** @returns {import('./baseline.mjs').Baseline} */
function counts() {
  return Object.fromEntries([...findings].map(([project, found]) => [project, found.length]));
}
