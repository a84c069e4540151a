// Entries of a real log (libs/ct/src/testing/data) in the response formats of both APIs, with their parsers.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { bundle, workspaceRoot } from '../../build/bundle.mjs';

const data = (name) => readFileSync(path.join(workspaceRoot, 'libs/ct/src/testing/data', name));
const tileWidth = 256;

/** Two consecutive data tiles. */
export const tiles = [data('navigli2025h2-000.tile'), data('navigli2025h2-001.tile')];

/** @param {any} ct libs/ct @returns the entries of the tiles */
export const entriesOf = (ct) =>
  tiles.flatMap((tile, index) => ct.readDataTile(tile, { index, width: tileWidth }).entries);

/** The same entries as one get-entries response. @param {any} ct libs/ct @param {number} chained CA certificates with each */
export function getEntriesOf(ct, chained) {
  const pem = data('test-embedded-issuer.pem').toString();
  const ca = Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64');
  const chain = vector(Buffer.concat(Array.from({ length: chained }, () => vector(ca))));
  const entries = entriesOf(ct).map(({ timestampedEntry, precertificateDer }) => ({
    leaf_input: Buffer.concat([Buffer.alloc(2), timestampedEntry]).toString('base64'),
    extra_data: Buffer.concat([vector(precertificateDer), chain]).toString('base64'),
  }));
  return Buffer.from(JSON.stringify({ entries }));
}

/** Prepends the length in three bytes (RFC 6962, section 4.6). */
function vector(bytes) {
  const length = Buffer.alloc(3);
  length.writeUIntBE(bytes.length, 0, 3);
  return Buffer.concat([length, bytes]);
}

/** @param {Record<string, string>} sources by name, from the root of the workspace @returns what each exports */
export async function loaded(sources) {
  const outdir = 'dist/bench/ct';
  await bundle(sources, outdir);
  const require = createRequire(path.join(workspaceRoot, outdir, 'any.js'));
  return Object.fromEntries(Object.keys(sources).map((name) => [name, require(`./${name}.js`)]));
}
