// @ts-check
// The files whose language is checked, by project.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { listedWords } from './words.mjs';

const CHECKED = /\.(?:ts|mjs|cjs|md)$/;
const NOT_OURS = new Set(['node_modules', 'dist']);

/** @typedef {ReturnType<typeof listedWords>[number] & { file: string }} Finding a file from the root of the workspace */

/**
 * @param {string} root of the workspace
 * @returns {ReadonlyMap<string, readonly Finding[]>} every project, also those without findings: `apps/<app>`, `libs/<lib>`,
 *   `tools`, `docs`, and `.` for the files at the top level
 */
export function findingsByProject(root) {
  /** @type {Map<string, readonly Finding[]>} */
  const findings = new Map();
  for (const project of projects(root)) {
    const folder = path.join(root, project);
    const files = (project === '.' ? topLevelFiles(folder) : filesBelow(folder)).sort();
    findings.set(
      project,
      files.filter((file) => CHECKED.test(file)).flatMap((file) => findingsIn(root, file)),
    );
  }
  return findings;
}

/**
 * @param {string} root
 * @returns {readonly string[]}
 */
function projects(root) {
  const inside = ['apps', 'libs'].flatMap((parent) =>
    foldersIn(root, parent).map((name) => `${parent}/${name}`),
  );
  return ['.', ...inside, ...['docs', 'tools'].filter((folder) => foldersIn(root, '.').includes(folder))];
}

/**
 * @param {string} root
 * @param {string} folder
 */
function foldersIn(root, folder) {
  return readdirSync(path.join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

/** @param {string} root */
function topLevelFiles(root) {
  const entries = readdirSync(root, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => path.join(root, name));
  return entries.some(({ name }) => name === '.github')
    ? [...files, ...filesBelow(path.join(root, '.github'))]
    : files;
}

/**
 * @param {string} folder
 * @returns {string[]}
 */
function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (NOT_OURS.has(entry.name)) return [];
    const place = path.join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(place) : [place];
  });
}

/**
 * @param {string} root
 * @param {string} file absolute
 * @returns {readonly Finding[]}
 */
function findingsIn(root, file) {
  const name = path.relative(root, file);
  return listedWords(readFileSync(file, 'utf8')).map((finding) => ({ file: name, ...finding }));
}
