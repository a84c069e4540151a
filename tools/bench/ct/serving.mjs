// `node tools/bench/ct/serving.mjs [issuances]`: pages of the search API over HTTP, from one ct-search process beside PostgreSQL
// and the client on the same machine.
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { bundle, workspaceRoot } from '../../build/bundle.mjs';
import { httpProbe, launch, run, stopChild, untilReady } from '../../embedded/child.mjs';
import { freePort, LOOPBACK } from '../../embedded/ports.mjs';
import { redisBinary } from '../../embedded/redis-binaries.mjs';
import { startRedis } from '../../embedded/redis.mjs';
import { cpuSeconds } from '../cpu-time.mjs';
import { table } from '../report.mjs';
import { issuance } from './corpus.mjs';
import { indexDatabase, mergeAll, revokeSome, store } from './index-database.mjs';

const usualIssuances = 2_000_000;
const perCommit = 16_384;
const inFlight = 32;
const requestsPerTurn = 4_000;
const [turnsBefore, turns] = [2, 7];
const readyWithinMs = 30_000;
/** Shorter than a certificate, so that loading is fast: pages are requested without bodies. */
const bodyBytes = 64;

/** @returns {Promise<string>} Markdown */
export async function serving(issuances = usualIssuances) {
  const world = await indexDatabase();
  const undo = [world.close];
  try {
    const domains = await load(world, issuances);
    const api = await startSearch(world, undo);
    return section(issuances, await inTurns(api, pages(domains)));
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

async function load(world, issuances) {
  const ids = new world.ctIndex.IssuerIds();
  const domains = [];
  for (let from = 0; from < issuances; from += perCommit) {
    const batch = Array.from({ length: Math.min(perCommit, issuances - from) }, (_, at) => {
      const one = issuance(world.ct, from + at);
      const [name] = one.dnsNames;
      // Some names of the corpus are no longer below a public suffix.
      if (name?.endsWith('.com') && !name.startsWith('*') && domains.length < 50_000) domains.push(name);
      return { ...one, body: one.body.subarray(0, bodyBytes) };
    });
    await ids.ensure(
      world.database.manager,
      batch.map(({ issuer }) => issuer),
    );
    await store(world, ids, batch);
  }
  await mergeAll(world);
  await revokeSome(world);
  await world.database.query('ANALYZE');
  return domains;
}

/** Kinds of requests: label, and the path of the nth request. */
function pages(domains) {
  const domain = (nth) => encodeURIComponent(domains[(nth * 7_919) % domains.length]);
  return [
    ['a response without database', () => '/v1/nothing-here'],
    ['one name', (nth) => `/v1/issuances?domain=${domain(nth)}`],
    [
      'one name and its issuers',
      (nth) => `/v1/issuances?domain=${domain(nth)}&expand=dns_names&expand=issuer`,
    ],
    [
      'with sub-domains and wildcards',
      (nth) => `/v1/issuances?domain=${domain(nth)}&include_subdomains=true&match_wildcards=true`,
    ],
    ['a firehose page of 1,000', (nth) => `/v1/issuances/firehose?after=${1 + ((nth * 7_919) % 100_000)}`],
  ];
}

async function startSearch({ url, serverPid, createDatabase }, undo) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'certwright-bench-search-'));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  const coreUrl = await createDatabase('bench_core');
  const cache = path.join(workspaceRoot, '.certwright/redis-binaries');
  const redis = await startRedis({
    binary: await redisBinary({ cache }),
    folder: path.join(folder, 'redis'),
  });
  undo.push(() => redis.stop());
  const key = await apiKey(coreUrl);
  const [port, ops] = [await freePort(), await freePort()];
  await bundle({ main: 'apps/ct-search/src/main.ts' }, 'dist/apps/ct-search');
  const child = await launch({
    command: process.execPath,
    args: ['dist/apps/ct-search/main.js'],
    cwd: workspaceRoot,
    env: {
      DATABASE_URL: coreUrl,
      CT_DATABASE_URL: url,
      REDIS_URL: `redis://${LOOPBACK}:${redis.port}`,
      PORT: String(port),
      OPS_HOST: LOOPBACK,
      OPS_PORT: String(ops),
      LOG_LEVEL: 'warn',
    },
    logFile: path.join(folder, 'ct-search.log'),
  });
  undo.push(() => stopChild(child, { graceMs: 10_000 }));
  const ready = httpProbe(`http://${LOOPBACK}:${ops}/readyz`);
  await untilReady(ready, { child, what: 'ct-search', withinMs: readyWithinMs });
  return { port, pid: child.pid, serverPid, key };
}

/** Key of an account whose plan allows more than the measured rate. */
async function apiKey(coreUrl) {
  for (const tool of ['migrate', 'admin'])
    await bundle({ main: `tools/${tool}/main.ts` }, `dist/tools/${tool}`);
  const tool = async (name, ...args) =>
    await run(process.execPath, [`dist/tools/${name}/main.js`, ...args], {
      cwd: workspaceRoot,
      env: { DATABASE_URL: coreUrl },
    });
  await tool('migrate');
  const { account_id, api_key } = JSON.parse((await tool('admin', 'seed-sandbox', '--json')).stdout);
  const terms = [
    '--queries-per-s',
    '100000',
    '--burst',
    '1000000',
    '--time-limit-ms',
    '5000',
    '--firehose',
    'true',
  ];
  await tool('admin', 'search', 'plan', 'set', 'bench', ...terms);
  await tool('admin', 'search', 'subscribe', account_id, 'bench');
  return api_key;
}

/** Medians of several turns, in which every kind of page is requested: other load affects all equally. */
async function inTurns(api, kinds) {
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight });
  const rows = kinds.map(([what, at]) => ({ what, at, next: 0, turns: [] }));
  for (let turn = 0; turn < turnsBefore + turns; turn += 1)
    for (const row of rows) {
      const measured = await measure(api, agent, row);
      if (turn >= turnsBefore) row.turns.push(measured);
    }
  agent.destroy();
  return rows.map(({ what, turns: of }) => {
    const medians = Object.keys(of[0]).map((name) => [name, median(of.map((each) => each[name]))]);
    return { what, ...Object.fromEntries(medians) };
  });
}

async function measure({ port, pid, serverPid, key }, agent, row) {
  const headers = { authorization: `Bearer ${key}` };
  const requestNth = async (nth) => {
    const at = row.at(row.next + nth);
    return await exchange({ agent, host: LOOPBACK, port, path: at, headers });
  };
  const requests = row.at(0).includes('firehose') ? requestsPerTurn / 40 : requestsPerTurn;
  const cpuOf = () => [pid, serverPid].map((each) => cpuSeconds(each));
  const [cpu, begun] = [cpuOf(), performance.now()];
  const { timesMs, bytes } = await requestAll(requestNth, requests);
  const seconds = (performance.now() - begun) / 1_000;
  const used = cpuOf();
  row.next += requests;
  timesMs.sort((one, other) => one - other);
  const [cpuMs, serverCpuMs] = used.map((each, nth) => ((each - cpu[nth]) * 1_000) / requests);
  return {
    perSecond: requests / seconds,
    p99Ms: timesMs[Math.floor(requests * 0.99)],
    ...{ cpuMs, serverCpuMs, bytes: bytes / requests },
  };
}

const median = (values) => [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)];

/** Sends several requests at a time. */
async function requestAll(requestNth, requests) {
  const timesMs = [];
  let bytes = 0;
  let next = 0;
  const work = async () => {
    while (next < requests) {
      const sent = performance.now();
      const received = await requestNth(next++);
      bytes += received;
      timesMs.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  return { timesMs, bytes };
}

/** @returns bytes of the body */
async function exchange(options) {
  return await new Promise((resolve, reject) => {
    const sent = request(options, (response) => {
      let bytes = 0;
      response.on('data', (chunk) => (bytes += chunk.length));
      response.on('end', () => {
        if (response.statusCode === 200 || response.statusCode === 404) return resolve(bytes);
        reject(new Error(`${options.path}: ${response.statusCode}`));
      });
    });
    sent.on('error', reject).end();
  });
}

function section(issuances, rows) {
  const [floor] = rows;
  return [
    `### Over HTTP: ${issuances.toLocaleString('en')} issuances, ${inFlight} requests in flight`,
    '',
    'One ct-search process, PostgreSQL and the client on one machine; each request has an API key, whose rate is counted in Redis. ' +
      `Medians of ${turns} turns with every page.`,
    '',
    table([
      ['page', 'per second', 'p99', 'CPU of the process', 'of PostgreSQL', 'bytes', 'share of the first row'],
      ...rows.map(({ what, perSecond, p99Ms, cpuMs, serverCpuMs, bytes }) => [
        what,
        Math.round(perSecond).toLocaleString('en'),
        `${p99Ms.toFixed(0)} ms`,
        `${cpuMs.toFixed(2)} ms`,
        `${serverCpuMs.toFixed(2)} ms`,
        Math.round(bytes).toLocaleString('en'),
        (perSecond / floor.perSecond).toFixed(2),
      ]),
    ]),
  ].join('\n');
}

if (argv[1] === fileURLToPath(import.meta.url)) console.log(await serving(Number(argv[2] ?? usualIssuances)));
