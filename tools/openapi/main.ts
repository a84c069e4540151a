import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * `npm run openapi`: writes the OpenAPI document of every app that has one to `apps/<app>/openapi.json`.
 * `npm run openapi -- --check`: writes nothing, and fails when a document differs from its code.
 */
const workspaceRoot = path.resolve(__dirname, '../../..');

/** Documents have a few hundred kilobytes. */
const maxDocumentBytes = 16 * 1024 * 1024;

function documentedApps(): string[] {
  return readdirSync(path.join(workspaceRoot, 'apps'))
    .filter((app) => existsSync(path.join(workspaceRoot, 'apps', app, 'src/openapi.ts')))
    .sort();
}

/** Bundles the app, and runs the entry point that prints its document. */
function documentOf(app: string): string {
  const run = (...args: string[]) =>
    execFileSync(process.execPath, args, {
      cwd: workspaceRoot,
      encoding: 'utf8',
      maxBuffer: maxDocumentBytes,
    });
  run('tools/build/build.mjs', `apps/${app}`);
  return run(`dist/apps/${app}/openapi.js`);
}

function storedDocument(file: string): string | null {
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}

const check = process.argv.includes('--check');
for (const app of documentedApps()) {
  const file = path.join(workspaceRoot, 'apps', app, 'openapi.json');
  const document = documentOf(app);
  if (document === storedDocument(file)) continue;
  if (check) {
    console.error(`apps/${app}/openapi.json is out of date: run npm run openapi and commit the result.`);
    process.exitCode = 1;
  } else {
    writeFileSync(file, document);
    console.log(`apps/${app}/openapi.json written`);
  }
}
