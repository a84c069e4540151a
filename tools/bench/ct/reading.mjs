// `node tools/bench/ct/reading.mjs`: how fast libs/ct reads real log entries, beside SHA-256 over the same octets, Node and
// pkijs, in one run on one core. The table goes to the terminal only.
import { createHash, hash, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { Certificate } from 'pkijs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const data = (name) => readFileSync(path.join(root, 'libs/ct/src/testing/data', name));
const SECONDS_EACH = 1.5;

function loadLib() {
  const folder = mkdtempSync(path.join(tmpdir(), 'ct-bench-'));
  const outfile = path.join(folder, 'ct.cjs');
  const entry = path.join(root, 'libs/ct/src/index.ts');
  buildSync({ entryPoints: [entry], bundle: true, platform: 'node', format: 'cjs', outfile });
  const lib = createRequire(import.meta.url)(outfile);
  rmSync(folder, { recursive: true });
  return lib;
}

/**
 * Calls a second in the quickest round, the one that other work on the machine disturbed least.
 * @param {() => number} round does some and tells how many
 */
function rate(round) {
  for (let i = 0; i < 20; i++) round();
  let best = 0;
  const until = performance.now() + SECONDS_EACH * 1000;
  while (performance.now() < until) {
    const start = performance.now();
    const count = round();
    best = Math.max(best, (count / (performance.now() - start)) * 1000);
  }
  return best;
}

const ct = loadLib();
const tiles = [data('navigli2025h2-000.tile'), data('navigli2025h2-001.tile')];
const readTile = (tile, index) => ct.readDataTile(tile, { index, width: 256 }).entries;
const entries = tiles.flatMap(readTile);
const precertificates = entries.map((entry) => entry.precertificateDer);
const json = data('navigli2025h2-first-32.get-entries.json').toString();
let sink = 0;
const each = (list, work) => () => {
  for (const item of list) sink += work(item);
  return list.length;
};
const toKeys = (tree) => (entry) => {
  const issued = ct.readEntry(entry);
  tree.append(ct.entryLeafHash(entry));
  return ct.tbsSha256(issued).length + ct.indexKeys(issued.dnsNames).length;
};

const rows = {
  'SHA-256 of each precertificate': each(precertificates, (der) => hash('sha256', der, 'hex').length),
  'the same with a Hash object': each(
    precertificates,
    (der) => createHash('sha256').update(der).digest().length,
  ),
  readIssued: each(precertificates, (der) => ct.readIssued(der, 'precertificate').dnsNames.length),
  'readIssued and TBS digest': each(
    precertificates,
    (der) => ct.tbsSha256(ct.readIssued(der, 'precertificate')).length,
  ),
  'readEntry and TBS digest': each(entries, (entry) => ct.tbsSha256(ct.readEntry(entry)).length),
  'data tile to index keys and tree': () => {
    const work = toKeys(ct.CompactTree.empty());
    return tiles.flatMap(readTile).map(work).length;
  },
  'get-entries to index keys and tree': () => {
    const work = toKeys(ct.CompactTree.empty());
    return ct.readEntriesAnswer(JSON.parse(json)).map(({ entry }) => work(entry)).length;
  },
  'X509Certificate and its alternative names': each(
    precertificates.slice(0, 64),
    (der) => new X509Certificate(der).subjectAltName.length,
  ),
  pkijs: each(precertificates.slice(0, 64), (der) => Certificate.fromBER(der).extensions.length),
};

for (const [name, round] of Object.entries(rows)) {
  const perSecond = Math.round(rate(round)).toLocaleString('en');
  console.log(`${name.padEnd(44)}${perSecond.padStart(12)} /s`);
}
if (sink === 0) throw new Error('nothing was read');
