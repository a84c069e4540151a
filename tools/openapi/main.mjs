// `npm run openapi`: writes the OpenAPI document of every app that has one to `apps/<app>/openapi.json`.
// `npm run openapi -- --check`: writes nothing, and fails when a document differs from its code.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { bundle, entryPointsOf, workspaceRoot } from '../build/bundle.mjs';

/** Documents have a few hundred kilobytes. */
const maxBuffer = 16 * 1024 * 1024;

const isCheck = process.argv.includes('--check');
for (const app of readdirSync(path.join(workspaceRoot, 'apps')).sort()) {
  const entryPoints = entryPointsOf(`apps/${app}`);
  if (entryPoints.openapi === undefined) continue;
  await bundle(entryPoints, `dist/apps/${app}`);
  const program = path.join(workspaceRoot, `dist/apps/${app}/openapi.js`);
  const document = execFileSync(process.execPath, [program], {
    cwd: workspaceRoot,
    encoding: 'utf8',
    maxBuffer,
  });
  const file = path.join(workspaceRoot, 'apps', app, 'openapi.json');
  if (existsSync(file) && readFileSync(file, 'utf8') === document) continue;
  if (isCheck) {
    console.error(`apps/${app}/openapi.json is out of date: run npm run openapi and commit the result.`);
    process.exitCode = 1;
  } else {
    writeFileSync(file, document);
    console.log(`apps/${app}/openapi.json written`);
  }
}
