// From orders to certificates: rate, and CPU per certificate.
import { randomBytes } from 'node:crypto';
import os from 'node:os';
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { cpuSeconds } from '../cpu-time.mjs';
import { table } from '../report.mjs';
import { certificationRequest } from './certification-requests.mjs';
import { costSection, stateOf } from './database-cost.mjs';
import { commitFloor, signatureFloor } from './floor.mjs';
import { startPlatform } from './platform.mjs';

const usage = `npm run bench -- issuance [--orders N] [--clients N] [--jobs N]

  --orders N    how many orders to create and issue (default 3000)
  --clients N   number of concurrent clients (default 16)
  --jobs N      JOB_CONCURRENCY of the worker (default 32, as in a deployment)`;

/** Time limit of the whole run. */
const boundMs = 5 * 60_000;
/** The end of a run is looked for more often: counting costs CPU, and a late look counts as time of the run. */
const lastCertificates = 20;
const [usualPauseMs, lastPauseMs] = [50, 5];
const publishers = 16;
const [clustersBefore, clustersAfter] = [3, 2];

/** @param {readonly string[]} args */
export async function issuance(args) {
  if (args.includes('--help')) return void console.log(usage);
  const option = (name, fallback) => Number(args[args.indexOf(`--${name}`) + 1] || NaN) || fallback;
  const orders = option('orders', 3_000);
  const clients = option('clients', 16);
  const jobs = option('jobs', 32);
  const say = (line) => console.log(`- ${line}`);
  say('measuring the floor of this machine');
  const signatures = signatureFloor();
  const platform = await startPlatform({ say, concurrency: String(jobs) });
  const stop = () => void platform.stop().then(() => process.exit(1));
  process.once('SIGINT', stop);
  const database = new pg.Pool({ connectionString: platform.databaseUrl, max: 2 });
  try {
    say(`making ${orders} keys and CSRs, and publishing their standing records`);
    const bodies = await prepare(platform, database, orders);
    say('posting orders with the worker stopped');
    const half = Math.floor(orders / 2);
    process.kill(platform.pids['issuance-worker'], 'SIGSTOP');
    const empty = await stateOf(database);
    const created = await measure(platform, async () => await post(platform, bodies.slice(0, half), clients));
    const ordered = await stateOf(database);
    process.kill(platform.pids['issuance-worker'], 'SIGCONT');
    say('letting the worker issue them');
    const drained = await measure(platform, async () => await issued(database, half));
    const cost = [empty, ordered, await stateOf(database), half];
    // Before and after what is compared with it: the speed of a machine changes within a minute.
    const commits = await commitFloors(clustersBefore);
    say('posting the rest while they are issued: end to end');
    const whole = await measure(platform, async () => {
      await post(platform, bodies.slice(half), clients);
      await issued(database, orders);
    });
    commits.push(...(await commitFloors(clustersAfter)));
    const floor = { ...signatures, commits: commits.sort((one, other) => one - other) };
    const machine = machineOf(clients, jobs);
    return [
      section({ floor, half, rest: orders - half, created, drained, whole, machine }),
      costSection(...cost, machine),
    ];
  } finally {
    process.removeListener('SIGINT', stop);
    await database.end();
    await platform.stop();
  }
}

async function commitFloors(count) {
  const rates = [];
  while (rates.length < count) rates.push(await commitFloor());
  return rates;
}

/** Publishes the standing records of the customers before the orders. */
async function prepare({ control, accountId, approvalZone }, database, orders) {
  const agent = new Agent({ keepAlive: true, maxSockets: publishers });
  const names = Array.from({ length: orders }, (_, index) => `www${index}.bench.example.com`);
  const labels = names.map(() => randomBytes(20).toString('hex'));
  await database.query(
    `INSERT INTO delegation (account_id, dns_name, label) SELECT $1, * FROM unnest($2::text[], $3::text[])`,
    [accountId, names, labels],
  );
  await sideBySide(publishers, names, async (name, index) => {
    const record = {
      name: `_acme-challenge.${name}`,
      type: 'CNAME',
      value: `${labels[index]}.${approvalZone}`,
    };
    await send(agent, `${control}/records`, {}, record);
  });
  agent.destroy();
  return names.map((name) => ({ dns_names: [name], csr: certificationRequest(name) }));
}

export async function post({ api, apiKey }, bodies, clients) {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const headers = { authorization: `Bearer ${apiKey}` };
  await sideBySide(clients, bodies, async (body) => await send(agent, `${api}/api/v3/orders`, headers, body));
  agent.destroy();
}

export async function issued(database, count) {
  const deadline = performance.now() + boundMs;
  for (;;) {
    const { rows } = await database.query('SELECT count(*)::int AS count FROM certificate');
    if (rows[0].count >= count) return;
    if (performance.now() > deadline)
      throw new Error(`only ${rows[0].count} of ${count} certificates after ${boundMs} ms`);
    await delay(count - rows[0].count > lastCertificates ? usualPauseMs : lastPauseMs);
  }
}

export async function sideBySide(width, items, work) {
  let next = 0;
  const one = async () => {
    for (let index = next++; index < items.length; index = next++) await work(items[index], index);
  };
  await Promise.all(Array.from({ length: width }, one));
}

export async function send(agent, url, headers, body) {
  const payload = JSON.stringify(body);
  await new Promise((resolve, reject) => {
    const sent = request(
      url,
      { agent, method: 'POST', headers: { ...headers, 'content-type': 'application/json' } },
      (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () => {
          if (response.statusCode === 200 || response.statusCode === 201) return resolve(undefined);
          reject(new Error(`${url}: ${response.statusCode} ${Buffer.concat(chunks).toString()}`));
        });
      },
    );
    sent.on('error', reject);
    sent.end(payload);
  });
}

/** Wall-clock seconds of some work, and the CPU seconds that each process spent on it. */
export async function measure({ pids }, work) {
  const before = Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, cpuSeconds(pid)]));
  const own = process.cpuUsage();
  const start = performance.now();
  await work();
  const seconds = (performance.now() - start) / 1_000;
  const spent = process.cpuUsage(own);
  const cpu = Object.fromEntries(
    Object.entries(pids).map(([name, pid]) => [name, cpuSeconds(pid) - before[name]]),
  );
  return { seconds, cpu, clientCpu: (spent.user + spent.system) / 1e6 };
}

function machineOf(clients, jobs) {
  const [{ model }] = os.cpus();
  return `${os.cpus().length} cores (${model.trim()}), Node ${process.version}, ${clients} clients, ${jobs} concurrent jobs, fsync on.`;
}

function section({ floor, half, rest, created, drained, whole, machine }) {
  const perSecond = (count, { seconds }) => count / seconds;
  const end = perSecond(rest, whole);
  const commits = floor.commits[Math.floor(floor.commits.length / 2)];
  const total = Object.values(whole.cpu).reduce((sum, seconds) => sum + seconds, 0);
  const ms = (seconds) => ((seconds * 1_000) / rest).toFixed(2);
  const ratio = (rate, bare) => `1 : ${(bare / rate).toFixed(1)}`;
  const rates = table([
    ['what', 'per second', 'relative to the baseline'],
    [
      '**certificates, end to end** (ordered, approved by DNS, signed, attached)',
      `**${end.toFixed(0)}**`,
      `${ratio(end, commits)} commits`,
    ],
    [
      'orders created (worker stopped)',
      perSecond(half, created).toFixed(0),
      `${ratio(perSecond(half, created), floor.ecdsaVerifications)} verifications`,
    ],
    [
      'certificates issued from a backlog (no new orders)',
      perSecond(half, drained).toFixed(0),
      `${ratio(perSecond(half, drained), floor.rsaSignatures)} signatures`,
    ],
    [
      'baseline: durable commits of one 1 kB row, 16 writers, median of 5 clusters',
      `${commits.toFixed(0)} (${floor.commits[0].toFixed(0)} to ${floor.commits.at(-1).toFixed(0)})`,
      '',
    ],
    ['baseline: RSA-2048 signatures, one core', floor.rsaSignatures.toFixed(0), ''],
    ['baseline: P-256 verifications, one core', floor.ecdsaVerifications.toFixed(0), ''],
  ]);
  const costs = table([
    ['CPU per certificate, end to end', 'ms', 'share'],
    ...Object.entries(whole.cpu).map(([name, seconds]) => [
      name,
      ms(seconds),
      `${((100 * seconds) / total).toFixed(0)} %`,
    ]),
    ['**whole platform**', `**${ms(total)}**`, '100 %'],
    ['the client (not part of the platform)', ms(whole.clientCpu), ''],
  ]);
  const text = `## Issuance\n\n${machine}\n\n${rates}\n\n${costs}`;
  return { name: 'issuance', text };
}
