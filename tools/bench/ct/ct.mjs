// Cost of Certificate Transparency: parsing, log responses to rows, committing, searching, and pages over HTTP.
import { table } from '../report.mjs';
import { committing } from './committing.mjs';
import { reading } from './reading.mjs';
import { searching } from './searching.mjs';
import { serving } from './serving.mjs';
import { packedPath, wholePath } from './whole-path.mjs';

const usage = `npm run bench -- ct [all|reading|path|committing|searching|serving] [issuances]

A single part is printed but not written to the page. Fewer issuances, for searching and serving, load faster.`;

const parts = {
  reading: async () => section('Parsing one certificate', await reading()),
  path: async () =>
    `${section('From log responses to rows', await wholePath())}\n\n${table(await packedPath())}`,
  committing: async () => await committing(),
  searching,
  serving,
};

export async function ct([what = 'all', issuances]) {
  if (what === '--help' || (what !== 'all' && !(what in parts))) return void console.log(usage);
  const size = issuances === undefined ? undefined : Number(issuances);
  if (what !== 'all') return void console.log(await parts[what](size));
  const sections = [];
  for (const [name, part] of Object.entries(parts)) {
    console.log(`${name} …`);
    sections.push(await part());
  }
  const text = ['## Certificate Transparency', '`npm run bench -- ct`', ...sections].join('\n\n');
  return { name: 'ct', text };
}

const section = (heading, rows) => `### ${heading}\n\n${table(rows)}`;
