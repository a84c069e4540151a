// One process of the order API with many agents that poll, beside a bare long poll of the same clients.
import { fork } from 'node:child_process';
import { createServer, request as httpRequest, Agent } from 'node:http';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { freePort, LOOPBACK } from '../../embedded/ports.mjs';
import { cpuSeconds } from '../cpu-time.mjs';
import { startPlatform } from '../issuance/platform.mjs';
import { table } from '../report.mjs';
import { identity } from './clients.mjs';

const usage = 'npm run bench -- agents [agents, 10000] [agents of a cluster, 1000]';
const waitS = 50;
const idleS = 60;
const otherPerSecond = 200;
const otherSeconds = 20;

export async function agents(args) {
  if (args.includes('--help')) return void console.log(usage);
  const [count, perCluster] = [Number(args[0] ?? 10_000), Number(args[1] ?? 1_000)];
  const platform = await startPlatform({ say: (line) => console.log(line), concurrency: '1' });
  const database = new pg.Client({ connectionString: platform.databaseUrl });
  try {
    process.kill(platform.pids['issuance-worker'], 'SIGSTOP');
    await database.connect();
    await insertAgents(database, platform.accountId, count, perCluster);
    const bare = await measuredBare(count, perCluster);
    const server = await ownServer(platform);
    const own = await measuredApi({ ...platform, ...server }, database, count, perCluster);
    return section(own, bare, { count, perCluster });
  } finally {
    await database.end();
    process.kill(platform.pids['issuance-worker'], 'SIGCONT');
    await platform.stop();
  }
}

/** A process of its own, which can be restarted. */
async function ownServer(platform) {
  const [port, ops] = [await freePort(), await freePort()];
  const env = {
    ...platform.environment,
    PORT: String(port),
    OPS_PORT: String(ops),
    LOG_LEVEL: 'warn',
    READS_PER_S: '100000',
    WRITES_PER_S: '100000',
    SEALING_KEYS: Buffer.alloc(32, 7).toString('base64'),
  };
  const ready = `http://${LOOPBACK}:${ops}/readyz`;
  const start = async () => await platform.start('orders-v3', 'dist/apps/orders-v3', env, ready);
  await start();
  return { api: `http://${LOOPBACK}:${port}`, restart: start, pidOf: () => platform.pids['orders-v3'] };
}

async function insertAgents(database, accountId, count, perCluster) {
  const clusters = Math.ceil(count / perCluster);
  await database.query(
    `INSERT INTO cluster (account_id, name, cluster_key) SELECT $1, 'c' || n, sha256('key') FROM generate_series(0, $2 - 1) AS n`,
    [accountId, clusters],
  );
  await database.query(
    `INSERT INTO cluster_enrolment (account_id, cluster, token_sha256, uses, used, expires_at)
     SELECT account_id, name, sha256(name::bytea), 1000, 1000, now() FROM cluster WHERE account_id = $1`,
    [accountId],
  );
  for (let start = 0; start < count; start += 1_000) {
    const some = Array.from({ length: Math.min(1_000, count - start) }, (_, each) => ({
      ...identity(start + each),
      cluster: `c${Math.floor((start + each) / perCluster)}`,
    }));
    await database.query(
      `INSERT INTO agent (id, account_id, cluster, identity_key, sealing_key, statement, enrolment_id, name, version, platform, last_seen_at)
       SELECT id, $1::bigint, each.cluster, key, key, 'x', enrolment, 'bench', '1', 'linux', now() - random() * interval '5 minutes'
       FROM unnest($2::text[], $3::text[], $4::bytea[]) AS each (id, cluster, key)
       JOIN (SELECT id AS enrolment, cluster FROM cluster_enrolment WHERE account_id = $1) AS enrolments USING (cluster)`,
      [
        accountId,
        some.map(({ id }) => id),
        some.map(({ cluster }) => cluster),
        some.map(({ publicKey }) => publicKey),
      ],
    );
  }
  await database.query('VACUUM ANALYZE');
}

/** A server that responds to nothing but long polls: what sockets and HTTP cost. */
async function measuredBare(count, perCluster) {
  const server = fork(new URL('./agents.mjs', import.meta.url).pathname, ['bare']);
  const [port] = await new Promise((resolve) => server.once('message', resolve));
  const clients = startClients(port, count, perCluster, 'plain');
  try {
    const before = residentMb(server.pid);
    const waitedS = await untilWaiting(clients, count);
    const kib = ((residentMb(server.pid) - before) * 1_024) / count;
    const cpu = cpuSeconds(server.pid);
    await delay(idleS * 1_000);
    return { waitedS, kib, cpuShare: (cpuSeconds(server.pid) - cpu) / idleS };
  } finally {
    clients.kill('SIGKILL');
    server.kill('SIGKILL');
  }
}

async function serveBare() {
  const port = await freePort();
  let version = 0;
  const server = createServer((request, response) => {
    if (request.url?.includes('after=0')) {
      version = 1;
      const body = JSON.stringify({ version, orders: [] });
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
        .end(body);
    } else {
      const timer = setTimeout(() => response.writeHead(204).end(), waitS * 1_000);
      response.on('close', () => clearTimeout(timer));
    }
  });
  server.keepAliveTimeout = 240_000;
  server.listen(port, LOOPBACK, 4_096, () => process.send([port]));
}

async function measuredApi(platform, database, count, perCluster) {
  const port = new URL(platform.api).port;
  const pid = platform.pidOf();
  const orders = await createOrders(platform, 20);
  const before = residentMb(pid);
  const clients = startClients(port, count, perCluster, 'signed');
  try {
    const waitedS = await untilWaiting(clients, count);
    const kib = ((residentMb(pid) - before) * 1_024) / count;
    const [written, cpu] = [await rowsWritten(database), cpuSeconds(pid)];
    let busiest = 0;
    for (let second = 0; second < idleS; second += 1) {
      await delay(1_000);
      busiest = Math.max(busiest, await activeConnections(database));
    }
    const rows = ((await rowsWritten(database)) - written) / idleS;
    const cpuShare = (cpuSeconds(pid) - cpu) / idleS;
    const alone = await others(platform, orders);
    const change = await measuredChange(platform, clients, perCluster);
    const { statuses } = await asked(clients);
    process.kill(pid, 'SIGKILL');
    await platform.restart();
    const backS = await untilWaiting(clients, count);
    return { waitedS, kib, cpuShare, rows, busiest, change, statuses, backS, ...alone };
  } finally {
    clients.kill('SIGKILL');
  }
}

function startClients(port, count, perCluster, kind) {
  const values = [port, count, perCluster, kind, waitS].map(String);
  return fork(new URL('./clients.mjs', import.meta.url).pathname, values);
}

/** @returns what the clients report now */
async function asked(clients, message = 'report') {
  const response = new Promise((resolve) => clients.once('message', resolve));
  clients.send(message);
  return await response;
}

async function untilWaiting(clients, count) {
  const begun = performance.now();
  for (;;) {
    const report = await asked(clients);
    const seconds = (performance.now() - begun) / 1_000;
    // Those that change over to the next request at this moment do not wait.
    if (report.waiting >= count * 0.995) return seconds;
    if (seconds > 180) throw new Error(`only ${JSON.stringify(report)} wait`);
    await delay(200);
  }
}

async function createOrders(platform, count) {
  const names = Array.from({ length: count }, (_, each) => `bench-${each}.example.com`);
  for (const name of names)
    await call(platform, 'POST', '/api/v3/orders', { dns_names: [name], cluster: 'c1' });
  return names;
}

/** Other requests while all agents wait, at a fixed rate. */
async function others(platform, names) {
  const times = [];
  const end = performance.now() + otherSeconds * 1_000;
  const work = [];
  for (let each = 0; performance.now() < end; each += 1) {
    const begun = performance.now();
    work.push(
      call(platform, 'GET', `/api/v3/orders/${names[each % names.length]}`).then(() =>
        times.push(performance.now() - begun),
      ),
    );
    await delay(Math.max(0, 1_000 / otherPerSecond - (performance.now() - begun)));
  }
  await Promise.all(work);
  times.sort((one, other) => one - other);
  const at = (share) => times[Math.floor(times.length * share)] ?? 0;
  return { perSecond: times.length / otherSeconds, medianMs: at(0.5), p99Ms: at(0.99) };
}

/** Until all agents of a cluster have a new order. */
async function measuredChange(platform, clients, perCluster) {
  const all = [];
  for (let round = 0; round < 5; round += 1) {
    await asked(clients, 'forget');
    const begun = Date.now();
    await call(platform, 'POST', '/api/v3/orders', {
      name: `change ${round}`,
      dns_names: ['example.com'],
      cluster: 'c0',
    });
    for (;;) {
      const { changes } = await asked(clients);
      const own = new Map(changes).get(0);
      if (own?.count >= perCluster) {
        all.push((own.lastMs - begun) / 1_000);
        break;
      }
      if (Date.now() - begun > 60_000) throw new Error(`only ${own?.count ?? 0} agents noticed a change`);
      await delay(50);
    }
    await delay(3_000);
  }
  return all.sort((one, other) => one - other);
}

const agent = new Agent({ keepAlive: true, maxSockets: 50 });

async function call({ api, apiKey }, method, at, body) {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    authorization: `Bearer ${apiKey}`,
    ...(text === undefined ? {} : { 'content-type': 'application/json' }),
  };
  await new Promise((resolve, reject) => {
    const sent = httpRequest(api + at, { agent, method, headers }, (response) => {
      response.resume();
      response.on('end', () =>
        (response.statusCode ?? 500) < 400 ? resolve() : reject(new Error(`${response.statusCode}`)),
      );
    });
    sent.on('error', reject).end(text);
  });
}

async function rowsWritten(database) {
  await database.query('SELECT pg_stat_force_next_flush()');
  const { rows } = await database.query(
    `SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::int AS count FROM pg_stat_user_tables`,
  );
  return rows[0].count;
}

async function activeConnections(database) {
  const { rows } = await database.query(
    `SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = 'orders-v3' AND state <> 'idle'`,
  );
  return rows[0].count;
}

function residentMb(pid) {
  const [, kilobytes = '0'] =
    /^VmRSS:\s+(\d+)/m.exec(readFileSync(path.join('/proc', String(pid), 'status'), 'utf8')) ?? [];
  return Number(kilobytes) / 1_024;
}

function section(own, bare, { count, perCluster }) {
  const ratio = (one, other) => (one / other).toFixed(1);
  const text = `## Agents

\`npm run bench -- agents\`: ${count.toLocaleString('en')} agents in clusters of ${perCluster.toLocaleString('en')} poll one process of \`orders-v3\` with \`wait=${waitS}\`.
The bare long poll is a \`node:http\` server that responds 204 after as long, without signatures and without a database.

${table([
  ['what', 'orders-v3', 'bare long poll', 'ratio'],
  [
    'all agents wait after (500 to 1,000 begin per second)',
    `${own.waitedS.toFixed(1)} s`,
    `${bare.waitedS.toFixed(1)} s`,
    ratio(own.waitedS, bare.waitedS),
  ],
  [
    'memory for each, with its socket',
    `${own.kib.toFixed(1)} KiB`,
    `${bare.kib.toFixed(1)} KiB`,
    ratio(own.kib, bare.kib),
  ],
  [
    'CPU of the process while idle',
    `${(100 * own.cpuShare).toFixed(1)} % of a core`,
    `${(100 * bare.cpuShare).toFixed(1)} %`,
    ratio(own.cpuShare, bare.cpuShare),
  ],
])}

- Rows written while idle: ${own.rows.toFixed(1)} per second. Connections to the database that are not idle, at most: ${own.busiest}.
- ${Math.round(own.perSecond)} other requests per second meanwhile: median ${own.medianMs.toFixed(1)} ms, p99 ${own.p99Ms.toFixed(1)} ms.
- A new order reaches all ${perCluster.toLocaleString('en')} agents of its cluster within ${own.change.map((seconds) => `${seconds.toFixed(2)} s`).join(', ')} (five rounds, sorted). Redis is not involved.
- After the process was killed and started again, all agents wait ${own.backS.toFixed(1)} s after it is ready.
- Responses to agents before that: ${Object.entries(own.statuses)
    .map(([status, number]) => `${number} with ${status}`)
    .join(', ')}.
`;
  return { name: 'agents', text };
}

if (process.argv[2] === 'bare' && process.send !== undefined) await serveBare();
