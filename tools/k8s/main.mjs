// @ts-check
// node tools/k8s/main.mjs render FOLDER   prints the objects of an overlay, as a JSON array
// node tools/k8s/main.mjs check FILE      prints an error per line for the objects of a YAML file
// Exits with 2 if there is no kubectl.
import { readFileSync } from 'node:fs';
import { kubectl, manifestsIn, render } from './render.mjs';
import { typeErrors } from './strict-types.mjs';

const [command, place = ''] = process.argv.slice(2);
if (command === 'render') {
  if (kubectl() === null) process.exitCode = 2;
  else process.stdout.write(JSON.stringify(render(place)));
} else if (command === 'check') {
  for (const error of await typeErrors(manifestsIn(readFileSync(place, 'utf8')))) console.log(error);
} else {
  throw new Error('Usage: node tools/k8s/main.mjs render FOLDER | check FILE');
}
