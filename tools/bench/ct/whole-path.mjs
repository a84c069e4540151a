// `node tools/bench/ct/whole-path.mjs`: from log responses to rows that are ready to be stored, as in ct-ingest, compared with SHA-256 over
// the same bytes: leaf hash and tree, the stored fields of a certificate, its digests, and the keys of its names. The body is not
// compressed, which is measured separately.
import { hash } from 'node:crypto';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { table } from '../report.mjs';
import { inTurns } from './in-turns.mjs';
import { entriesOf, getEntriesOf, loaded, tiles } from './real-entries.mjs';

const tileWidth = 256;
/** A day after the entries were logged: none has expired. */
const loggedAt = Date.UTC(2025, 4, 4);
const packingMs = 3_000;

/** @returns {Promise<(string | number)[][]>} rows of a table, its head first */
export async function wholePath() {
  const path = await openPath();
  const hashed = (parts) => () => parts.filter((bytes) => hash('sha256', bytes, 'hex') !== '').length;
  const read = (entries) => async () => (await path.issuances(entries())).length;
  const rates = await inTurns({
    ...{ tiles: read(path.ofTiles), tileFloor: hashed(path.tileParts) },
    ...{ json: read(path.json.entries), jsonFloor: hashed(path.json.parts) },
    ...{ chained: read(path.chained.entries), chainedFloor: hashed(path.chained.parts) },
  });
  const row = (name, rate, floor) => [name, perSecond(rate), perSecond(floor), (rate / floor).toFixed(2)];
  return [
    ['entries to rows', 'a second of CPU', 'SHA-256 over the same bytes', 'ratio'],
    row('from data tiles', rates.tiles, rates.tileFloor),
    row('from get-entries, without chains', rates.json, rates.jsonFloor),
    row('from get-entries, each with two CA certificates', rates.chained, rates.chainedFloor),
  ];
}

/** The same with bodies packed while the next entries are read. @returns {Promise<(string | number)[][]>} rows as above */
export async function packedPath() {
  const path = await openPath();
  const rows = [['data tile entries to rows with compressed bodies', 'a second', 'CPU cores used']];
  for (const [name, threads] of Object.entries({
    'in the main thread': 0,
    'by one thread': 1,
    'by two threads': 2,
  })) {
    const packer = path.packer(threads);
    let packing = packer.pack(await path.issuances(path.ofTiles()));
    const [begun, before] = [performance.now(), process.cpuUsage()];
    let entries = 0;
    while (performance.now() - begun < packingMs) {
      const next = await path.issuances(path.ofTiles());
      entries += (await packing).length;
      packing = packer.pack(next);
    }
    const seconds = (performance.now() - begun) / 1_000;
    const { user, system } = process.cpuUsage(before);
    await packing;
    await packer.close();
    rows.push([name, perSecond(entries / seconds), ((user + system) / 1e6 / seconds).toFixed(1)]);
  }
  return rows;
}

const perSecond = (rate) => Math.round(rate).toLocaleString('en');

async function openPath() {
  const src = 'apps/ct-ingest/src';
  const { ct, batch, tile, json, issuers, recent, scope, packing } = await loaded({
    ...{
      ct: 'libs/ct/src/index.ts',
      batch: `${src}/following/batch.ts`,
      tile: `${src}/log-api/tile-leaves.ts`,
    },
    ...{ json: `${src}/log-api/json-entries.ts`, issuers: `${src}/reading/issuers.ts` },
    ...{ recent: `${src}/reading/recent-issuances.ts`, scope: `${src}/reading/indexed-scope.ts` },
    packing: `${src}/packing/packing-threads.ts`,
  });
  // Only the few issuers are known from before.
  const reading = {
    ...{ issuers: new issuers.Issuers(), recent: new recent.RecentIssuances(0) },
    ...{ scope: scope.everything, now: () => loggedAt },
  };
  const responses = (chained) => {
    const response = getEntriesOf(ct, chained);
    return {
      entries: () => json.readJsonEntries(response, Infinity),
      parts: JSON.parse(response).entries.map((entry) => Buffer.from(JSON.stringify(entry))),
    };
  };
  return {
    ofTiles: () =>
      tiles.flatMap((bytes, index) => {
        const first = index * tileWidth;
        const bounds = { maxHeld: Infinity, maxEntry: Infinity };
        const leaves = new tile.TileLeaves({ ...{ first, from: first, width: tileWidth }, ...bounds });
        try {
          leaves.take(bytes);
        } catch (error) {
          // Returns true when it has all of them.
          if (leaves.entries.length !== tileWidth) throw error;
        }
        return leaves.entries;
      }),
    ...{ json: responses(0), chained: responses(2) },
    /** Rows for the database, after their leaves were added to the tree. */
    issuances: async (entries) => {
      const rows = new batch.Batch(ct.CompactTree.empty(), reading, () => Promise.resolve(null));
      for (const entry of entries) await rows.add(entry);
      return rows.ingested(false).issuances;
    },
    packer: (threads) => new packing.PackingThreads(threads, (error) => console.error(error)),
    tileParts: entriesOf(ct).map(({ timestampedEntry, precertificateDer }) =>
      Buffer.concat([timestampedEntry, precertificateDer]),
    ),
  };
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  console.log(table(await wholePath()));
  console.log(table(await packedPath()));
}
