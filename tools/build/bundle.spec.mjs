// @ts-check
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { NODE_FLAGS, workspaceRoot } from '../up/workspace.mjs';
import { bundle } from './bundle.mjs';

jest.setTimeout(60_000);

/** @type {string} below the workspace, whose packages and sources it uses */
let folder;
beforeAll(async () => {
  folder = mkdtempSync(path.join(workspaceRoot, 'dist', 'bundle-spec-'));
  writeFileSync(
    path.join(folder, 'entry.ts'),
    `import { SourceMap } from 'node:module';
     import { queryObjects } from 'node:v8';
     import { createLogger } from '@certwright/service';
     import { DataSource } from 'typeorm';
     createLogger('spec').info({ source: typeof DataSource }, 'logged');
     const decoded = queryObjects(SourceMap, { format: 'count' });
     const { stack } = new Error('of our own code');
     console.log(JSON.stringify({ decoded, after: queryObjects(SourceMap, { format: 'count' }), stack }));`,
  );
  const relative = path.relative(workspaceRoot, folder);
  await bundle({ main: path.join(relative, 'entry.ts') }, relative);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('has a map of our own sources only, which is decoded for the first stack and not for a logger', () => {
  const output = execFileSync(
    process.execPath,
    [...NODE_FLAGS, '--no-warnings', path.join(folder, 'main.js')],
    {
      encoding: 'utf8',
    },
  );
  const { decoded, after, stack } = JSON.parse(
    output.split('\n').find((line) => line.includes('decoded')) ?? '',
  );
  expect([decoded, after]).toEqual([0, 1]);
  expect(stack).toContain(`${path.join(folder, 'entry.ts')}:7`);
  const { sources } = JSON.parse(readFileSync(path.join(folder, 'main.js.map'), 'utf8'));
  const folders = new Set(
    sources.map(
      (/** @type {string} */ source) =>
        path.relative(workspaceRoot, path.resolve(folder, source)).split('/')[0],
    ),
  );
  expect([...folders].sort()).toEqual(['dist', 'libs']);
});
