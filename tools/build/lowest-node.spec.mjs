// @ts-check
import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { bundle, workspaceRoot } from './bundle.mjs';
import { isAtLeast, LOWEST_NODE } from './lowest-node.mjs';

/** @type {string} */
let folder;
beforeAll(async () => {
  folder = mkdtempSync(path.join(process.env.CERTWRIGHT_TEST_RUN ?? '', 'lowest-node-'));
  writeFileSync(path.join(folder, 'main.ts'), `process.stderr.write('The program runs.');\n`);
  await bundle(
    { main: path.join(folder, 'main.ts') },
    path.relative(workspaceRoot, path.join(folder, 'sample')),
  );
});

/**
 * Runs the bundle as if this were another Node.js.
 * @param {string} version
 * @returns {Promise<{ code: unknown, stdout: string, stderr: string }>}
 */
async function runOn(version) {
  const pretend = path.join(folder, `pretend-${version}.cjs`);
  const versions = `{ value: { ...process.versions, node: '${version}' } }`;
  writeFileSync(pretend, `Object.defineProperty(process, 'versions', ${versions});\n`);
  const args = ['-r', pretend, path.join(folder, 'sample/main.js')];
  return await new Promise((resolve) => {
    execFile(process.execPath, args, (error, stdout, stderr) =>
      resolve({ code: error?.code, stdout, stderr }),
    );
  });
}

it.each(['16.20.2', '20.20.2', '22.18.0'])(
  'a bundle prints one line when %s is too old, before it loads anything',
  async (version) => {
    const line = `sample cannot start: it needs Node.js 22.19 or newer; this is ${version} (${process.execPath}).\n`;
    expect(await runOn(version)).toEqual({ code: 1, stdout: '', stderr: line });
  },
);

it.each(['22.19.0', '24.0.0', '100.1.0'])('a bundle runs with %s', async (version) => {
  expect((await runOn(version)).stderr).toBe('The program runs.');
});

it.each([
  ['22.19.0', true],
  ['22.18.9', false],
  ['23.0.0', true],
  ['20.19.0', false],
])('%s is at least the lowest: %s', (version, expected) => {
  expect(isAtLeast(version, LOWEST_NODE)).toBe(expected);
});
