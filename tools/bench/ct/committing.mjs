// `node tools/bench/ct/committing.mjs [issuances]`: stores issuances as ct-ingest does, with the index of their names, compared with
// only a COPY of the same rows of the base table from a file on the server, alternating chunk by chunk.
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { cpuSeconds, ownCpuSeconds } from '../cpu-time.mjs';
import { table } from '../report.mjs';
import { issuance } from './corpus.mjs';
import { indexDatabase, mergeAll, store } from './index-database.mjs';

const usualIssuances = 200_000;
/** Size of a full batch of ct-ingest. */
const perCommit = 2_048;
const commitsPerChunk = 16;
/** Concurrently followed logs. */
const writers = 2;
const columns = `position, tbs_sha256, cert_sha256, precertificate, spki_sha256, issuer, crl, serial, not_before, not_after,
  discovered_at, dns_names, body`;

/** @returns {Promise<string>} Markdown */
export async function committing(issuances = usualIssuances) {
  const world = await indexDatabase();
  try {
    await world.database.query(
      'CREATE TABLE bare (LIKE ct_issuance INCLUDING ALL) PARTITION BY RANGE (position)',
    );
    await world.database.query('CREATE TABLE bare_all PARTITION OF bare DEFAULT');
    const measured = await measure(world, issuances);
    return section({ ...measured, bytes: await bytesOf(world, measured.issuances) });
  } finally {
    await world.close();
  }
}

async function measure(world, issuances) {
  const ids = new world.ctIndex.IssuerIds();
  const seconds = { binary: 0, text: 0, stored: 0, known: 0, merged: 0 };
  const cpuS = { binary: 0, text: 0, stored: 0, known: 0, merged: 0 };
  const perChunk = perCommit * commitsPerChunk;
  let postingsMerged = 0;
  const timed = async (name, work) => {
    const allCpuS = () => ownCpuSeconds() + cpuSeconds(world.serverPid);
    const [begun, cpuBegun] = [performance.now(), allCpuS()];
    const result = await work();
    seconds[name] += (performance.now() - begun) / 1_000;
    cpuS[name] += allCpuS() - cpuBegun;
    return result;
  };
  const chunks = Math.ceil(issuances / perChunk);
  // The first one is a warm-up and is not counted.
  for (let chunk = 0; chunk <= chunks; chunk += 1) {
    if (chunk === 1) {
      for (const name of Object.keys(seconds)) seconds[name] = 0;
      for (const name of Object.keys(cpuS)) cpuS[name] = 0;
      postingsMerged = 0;
    }
    const all = Array.from({ length: perChunk }, (_, at) => issuance(world.ct, chunk * perChunk + at));
    await ids.ensure(
      world.database.manager,
      all.map(({ issuer }) => issuer),
    );
    const storeAll = async () => {
      let next = 0;
      const write = async () => {
        while (next < all.length) {
          const from = next;
          next += perCommit;
          await store(world, ids, all.slice(from, from + perCommit));
        }
      };
      await Promise.all(Array.from({ length: writers }, write));
    };
    await timed('stored', storeAll);
    const { postings } = await timed('merged', async () => await mergeAll(world));
    postingsMerged += postings;
    await timed('known', storeAll);
    for (const format of ['binary', 'text']) await bareCopy(world, format, chunk * perChunk, timed);
  }
  return { issuances: chunks * perChunk, seconds, cpuS, postingsMerged };
}

/** Copies the rows of a chunk to a file, and from there to another table. */
async function bareCopy({ database }, format, from, timed) {
  const [{ folder }] = await database.query(`SELECT current_setting('data_directory') AS folder`);
  const file = `${folder}/bench-${format}.copy`;
  await database.query(
    `COPY (SELECT ${columns} FROM ct_issuance WHERE position > ${from}) TO '${file}' (FORMAT ${format})`,
  );
  if (format === 'text') await database.query('TRUNCATE bare');
  await timed(format, async () => {
    await database.query(`COPY bare (${columns}) FROM '${file}' (FORMAT ${format})`);
  });
}

async function bytesOf({ database }, issuances) {
  const bytes = async (pattern, size) => {
    const [{ sum }] = await database.query(
      `SELECT sum(${size}(oid)) AS sum FROM pg_class WHERE relkind = 'r' AND relname ~ $1`,
      [pattern],
    );
    return Number(sum) / (issuances + perCommit * commitsPerChunk);
  };
  const [{ body, postings, names }] = await database.query(
    `SELECT (SELECT avg(octet_length(body)) FROM ct_issuance)::float AS body,
       (SELECT sum(octet_length(postings)) FROM ct_block)::float / (SELECT count(*) FROM ct_issuance) AS postings,
       (SELECT sum(postings) FROM ct_run)::float / (SELECT count(*) FROM ct_issuance) AS names`,
  );
  return {
    ...{ body, postings, names },
    blocks: await bytes('^ct_block', 'pg_total_relation_size'),
    known: await bytes('^ct_known', 'pg_total_relation_size'),
    base: await bytes('^ct_issuance_p', 'pg_total_relation_size'),
  };
}

function section({ issuances, seconds, cpuS, postingsMerged, bytes }) {
  const us = (s) => (s / issuances) * 1e6;
  const row = (name, ...kinds) => {
    const [s, cpu] = [seconds, cpuS].map((of) => kinds.reduce((sum, kind) => sum + of[kind], 0));
    return [
      name,
      Math.round(issuances / s).toLocaleString('en'),
      us(s).toFixed(1),
      us(cpu).toFixed(1),
      (seconds.binary / s).toFixed(2),
      (seconds.text / s).toFixed(2),
    ];
  };
  return [
    `### Committing: ${issuances.toLocaleString('en')} issuances with ${bytes.names.toFixed(1)} postings each, ${writers} writers`,
    '',
    table([
      ['', 'a second', 'µs each', 'µs of CPU, server included', 'of COPY binary', 'of COPY text'],
      row('only COPY of the base table, binary, from a file', 'binary'),
      row('only COPY of the base table, text, from a file', 'text'),
      row('stored and indexed', 'stored'),
      row('the same, and merged by the same process', 'stored', 'merged'),
      row('already known to the database', 'known'),
    ]),
    '',
    `Merging wrote ${(postingsMerged / issuances).toFixed(1)} postings again for each issuance. Bytes per issuance: postings ${bytes.postings.toFixed(0)}, ` +
      `with their tables and free space ${bytes.blocks.toFixed(0)}; known issuances ${bytes.known.toFixed(0)}; ` +
      `base table ${bytes.base.toFixed(0)}, of which the compressed certificate ${bytes.body.toFixed(0)}.`,
  ].join('\n');
}

if (argv[1] === fileURLToPath(import.meta.url))
  console.log(await committing(Number(argv[2] ?? usualIssuances)));
