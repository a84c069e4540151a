// `node tools/bench/ct/faulty-logs.mjs [--healthy 40] [--faulty 8] [--kinds endless,drip,…] [--seconds 60] [--limit 512]`: the rate at which
// ct-ingest follows healthy logs alone, and together with logs that are slow, endless or full of entries of 16 MB; and its peak memory, in a
// cgroup of that size if this machine has the memory controller of cgroup v1 (as root), otherwise only VmHWM.
import { execFileSync, fork, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { bundle, workspaceRoot } from '../../build/bundle.mjs';
import { indexDatabase } from './index-database.mjs';

const { values: options } = parseArgs({
  options: {
    healthy: { type: 'string', default: '40' },
    faulty: { type: 'string', default: '8' },
    kinds: { type: 'string', default: 'endless,drip,stall,part,huge' },
    entries: { type: 'string', default: '6000' },
    seconds: { type: 'string', default: '60' },
    page: { type: 'string', default: '512' },
    limit: { type: 'string', default: '512' },
    rate: { type: 'string', default: '5' },
    rounds: { type: 'string', default: 'alone,beside' },
    env: { type: 'string', multiple: true, default: [] },
    verbose: { type: 'boolean', default: false },
  },
});
const { healthy, faulty, entries, page, seconds, limit } = Object.fromEntries(
  Object.entries(options).map(([name, value]) => [name, Number(value)]),
);
const mebibyte = 1_048_576;

execFileSync(process.execPath, ['tools/build/build.mjs', 'apps/ct-ingest'], { cwd: workspaceRoot });
const testing = 'apps/ct-ingest/src/testing';
await bundle(
  { 'fake-log': `${testing}/fake-log.ts`, 'forged-entries': `${testing}/forged-entries.ts` },
  'dist/bench/faulty-logs',
);
const rates = {};
for (const round of options.rounds.split(',')) rates[round] = await measured(round);
console.log(JSON.stringify({ cores: cpus().length, ...options, rates }, null, 2));

async function measured(round) {
  const folder = mkdtempSync(path.join(tmpdir(), 'faulty-logs-'));
  const index = await indexDatabase();
  const logs = fork(path.join(import.meta.dirname, 'faulty-logs-served.mjs'), [], { stdio: 'inherit' });
  try {
    logs.send({
      healthy,
      faulty: round === 'alone' ? 0 : faulty,
      kinds: options.kinds.split(','),
      entries,
      page,
    });
    const list = await new Promise((resolve) => logs.once('message', resolve));
    const file = path.join(folder, 'list.json');
    writeFileSync(file, JSON.stringify(list));
    return await follow(index, file);
  } finally {
    logs.kill('SIGKILL');
    await index.close();
    rmSync(folder, { recursive: true });
  }
}

async function follow({ database, url }, list) {
  const group = `/sys/fs/cgroup/memory/faulty-logs-${process.pid}`;
  const isBounded = inGroup(group);
  const enter = isBounded ? `echo $$ > ${group}/cgroup.procs; ` : '';
  const child = spawn('sh', ['-c', `${enter}exec ${process.execPath} dist/apps/ct-ingest/main.js`], {
    cwd: workspaceRoot,
    stdio: ['ignore', options.verbose ? 'inherit' : 'ignore', 'inherit'],
    env: {
      PATH: process.env.PATH,
      ...{ CT_DATABASE_URL: url, LOG_LIST: list, ALLOWED_NETWORKS: '127.0.0.0/8', OPS_PORT: '0' },
      ...{ MEMORY_LIMIT: String(limit), REQUESTS_PER_SECOND: options.rate, POLL_INTERVAL: '1s' },
      ...Object.fromEntries(options.env.map((each) => each.split(/=(.*)/s, 2))),
    },
  });
  let ended = null;
  const exit = new Promise((resolve) =>
    child.once('exit', (code, signal) => resolve((ended = signal ?? code))),
  );
  const begun = performance.now();
  const samples = [];
  let doneS = null;
  const status = { hwmMib: 0, rssMib: 0 };
  while (performance.now() - begun < seconds * 1_000 && ended === null) {
    await delay(1_000);
    const [{ done }] = await database.query(
      `SELECT coalesce(sum(position), 0)::int AS done FROM ct_log WHERE description LIKE 'healthy%'`,
    );
    if (doneS === null && done >= healthy * entries) doneS = (performance.now() - begun) / 1_000;
    samples.push(done);
    Object.assign(status, memoryOf(child.pid));
    if (doneS !== null && samples.length > doneS + 5 && options.kinds !== 'huge') break;
  }
  const faults = await database.query(
    `SELECT description, position, failures, last_error, entries_odd FROM ct_log WHERE description LIKE 'faulty%' ORDER BY id`,
  );
  const result = {
    doneS,
    perSecond: Math.round(samples.at(-1) / (doneS ?? seconds)),
    each10s: samples.filter((_, nth) => nth % 10 === 9),
    ...status,
    ended,
    ...(isBounded ? groupFacts(group) : {}),
    faults: faults.map(({ description, position, failures, entries_odd, last_error }) =>
      [description, position, entries_odd, failures, last_error].join(' '),
    ),
  };
  child.kill('SIGKILL');
  await exit;
  if (isBounded) await removed(group);
  return result;
}

function inGroup(group) {
  try {
    mkdirSync(group);
    writeFileSync(`${group}/memory.limit_in_bytes`, String(limit * mebibyte));
    return true;
  } catch {
    return false;
  }
}

async function removed(group) {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    try {
      return rmdirSync(group);
    } catch {
      await delay(100);
    }
  }
}

function groupFacts(group) {
  const number = (file) => Number(readFileSync(`${group}/${file}`, 'utf8'));
  const mib = (file) => Math.round(number(file) / mebibyte);
  return {
    groupPeakMib: mib('memory.max_usage_in_bytes'),
    groupNowMib: mib('memory.usage_in_bytes'),
    timesAtLimit: number('memory.failcnt'),
    oomKills: /oom_kill (\d+)/.exec(readFileSync(`${group}/memory.oom_control`, 'utf8'))?.[1],
  };
}

function memoryOf(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const mib = (name) => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024);
    return { hwmMib: mib('VmHWM'), rssMib: mib('VmRSS') };
  } catch {
    return {};
  }
}
