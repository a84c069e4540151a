// @ts-check
// Checks overlays, or files of rendered manifests: node tools/k8s/main.mjs FOLDER|FILE …
import { readFileSync, statSync } from 'node:fs';
import { manifestsIn, render } from './render.mjs';
import { typeErrors } from './strict-types.mjs';

for (const place of process.argv.slice(2)) {
  const manifests = statSync(place).isDirectory() ? render(place) : manifestsIn(readFileSync(place, 'utf8'));
  const errors = await typeErrors(manifests);
  for (const error of errors) console.log(error);
  if (errors.length > 0) process.exitCode = 1;
}
