// @ts-check
// Managed orders: the time from a due renewal to the handshake, with agents as separate processes and a real nginx for each.
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:tls';
import pg from 'pg';
import { cpuSeconds } from '../cpu-time.mjs';
import { sideBySide } from '../issuance/issuance.mjs';
import { startPlatform } from '../issuance/platform.mjs';
import { table } from '../report.mjs';
import {
  buildAgent,
  enrol,
  memoryOf,
  missingForHosts,
  newClusterKey,
  prepareHost,
  reloadsOf,
  startAgent,
  stopHost,
} from './hosts.mjs';

const usage = `npm run bench -- managed [--clusters N] [--hosts N] [--orders N] [--key-type ecdsa|rsa]

  --clusters N   clusters (default 20)
  --hosts N      hosts of each cluster, each with an agent and an nginx (default 5)
  --orders N     orders of all clusters together (default 1000)
  --key-type T   default ecdsa; RSA keys take half a second of a core each`;

/** For everything to be served. */
const boundMs = 15 * 60_000;
/** Of Certwright's specification, and of the agent. */
const limits = { servedWithinS: 300, reloadGapMs: 10_000, orderedP95S: 15, attachedS: 3 };

/** @param {readonly string[]} args */
export async function managed(args) {
  if (args.includes('--help')) return void console.log(usage);
  /** @param {string} name @param {string} fallback */
  const option = (name, fallback) =>
    (args.includes(`--${name}`) ? args[args.indexOf(`--${name}`) + 1] : fallback) ?? fallback;
  const size = {
    clusters: Number(option('clusters', '20')),
    hosts: Number(option('hosts', '5')),
    orders: Number(option('orders', '1000')),
    keyType: option('key-type', 'ecdsa'),
  };
  const measured = await measureManaged(size, (line) => console.log(`- ${line}`));
  return section(size, measured);
}

/**
 * @param {{ clusters: number, hosts: number, orders: number, keyType: string }} size
 * @param {(line: string) => void} say
 */
export async function measureManaged({ clusters, hosts, orders, keyType }, say) {
  const missing = missingForHosts();
  if (missing !== null) throw new Error(missing);
  const folder = mkdtempSync(path.join(os.tmpdir(), 'certwright-managed-'));
  const platform = await startPlatform({ say, concurrency: '16' });
  const database = new pg.Pool({ connectionString: platform.databaseUrl, max: 4 });
  /** @type {{ host: import('./hosts.mjs').Host, agent?: import('../../embedded/child.mjs').Child }[]} */
  const running = [];
  const stop = async () => {
    await Promise.all(running.map(async ({ host, agent }) => await stopHost(host, agent)));
    await database.end();
    await platform.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const interrupted = () => void stop().finally(() => process.exit(1));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, interrupted);
  try {
    await buildAgent();
    const call = caller(platform);
    const zones = Array.from({ length: clusters }, (_, index) => `c${index}.bench.example.com`);
    const namesOf = (/** @type {number} */ cluster) =>
      Array.from(
        { length: Math.ceil((orders - cluster) / clusters) },
        (_, index) => `www${index}.${zones[cluster]}`,
      );
    const all = zones.flatMap((_, cluster) => namesOf(cluster));
    say(`publishing the standing records of ${all.length} names`);
    await publish(platform, database, all);

    say(`enrolling ${clusters * hosts} hosts, and starting their agents`);
    for (const [cluster, zone] of zones.entries()) {
      const key = newClusterKey();
      await call('POST', '/clusters', { name: `c${cluster}`, cluster_key: key.publicKey });
      const { token } = await call('POST', `/clusters/c${cluster}/enrolments`, { uses: hosts });
      for (let index = 0; index < hosts; index++) {
        const name = `c${cluster}-h${index}`;
        const host = await prepareHost({
          folder,
          name,
          server: platform.api,
          zone,
          orders: namesOf(cluster),
        });
        await enrol(host, `cwj1.${token}.${key.seed}\n`);
        running.push({ host });
      }
    }
    for (const each of running) each.agent = await startAgent(each.host);
    await eventually(async () => {
      const { rows } = await database.query(
        `SELECT count(*)::int AS count FROM agent WHERE last_seen_at IS NOT NULL`,
      );
      return rows[0].count >= running.length;
    }, 'agents that poll');

    const count = all.length * hosts;
    const order = async (/** @type {string} */ name) => {
      const cluster = `c${zones.findIndex((zone) => name.endsWith(`.${zone}`))}`;
      await call('POST', '/orders', { name, dns_names: [name], cluster, key_type: keyType });
    };
    say('ordering one certificate of each cluster, one after the other');
    const alone = [];
    for (const [cluster] of zones.entries()) {
      const [name = ''] = namesOf(cluster);
      const members = running.filter(({ host }) => host.orders.includes(name));
      const startedAt = Date.now();
      await order(name);
      const servedAt = await Promise.all(members.map(async ({ host }) => await servedFor(host, name)));
      const { rows } = await database.query(
        `SELECT created_at FROM certificate WHERE dns_names = ARRAY[$1]`,
        [name],
      );
      const attachedAt = rows[0].created_at.getTime();
      alone.push(
        ...servedAt.map((at) => ({ ordered: (at - startedAt) / 1000, attached: (at - attachedAt) / 1000 })),
      );
    }
    const pids = () =>
      Object.fromEntries(
        running.flatMap(({ host, agent }) => (agent === undefined ? [] : [[host.name, agent.pid]])),
      );
    const rest = zones.flatMap((_, cluster) => namesOf(cluster).slice(1));
    say(`ordering ${rest.length} more certificates, for ${count} installations together`);
    const first = await measured(platform, pids(), async () => {
      await sideBySide(8, rest, order);
      await served(database, count, say);
    });
    await delay(limits.reloadGapMs);
    say('making every renewal due at once');
    const before = await certificates(database);
    const reloadsBefore = running.map(({ host }) => reloadsOf(host).length);
    const renewal = await measured(platform, pids(), async () => {
      await database.query(`UPDATE plan SET renew_at = now()`);
      await served(database, count, say, before);
    });
    const latencies = await latenciesOf(database);
    say('connecting to every installation');
    const wrong = await visit(
      database,
      running.map(({ host }) => host),
    );
    const reloads = running.map(({ host }) => reloadsOf(host));
    const gaps = reloads.flatMap((times) => times.slice(1).map((time, index) => time - (times[index] ?? 0)));
    const { rows } = await database.query(
      `SELECT (SELECT count(*)::int FROM certificate) AS certificates, (SELECT count(DISTINCT spki_sha256)::int FROM certificate) AS keys,
         (SELECT count(*)::int FROM sealed_key) AS sealed`,
    );
    const memory = running.flatMap(({ agent }) => (agent === undefined ? [] : [memoryOf(agent.pid)]));
    return {
      orders: all.length,
      installations: count,
      alone: {
        ordered: distribution(alone.map(({ ordered }) => ordered)),
        attached: distribution(alone.map(({ attached }) => attached)),
      },
      first,
      renewal,
      latencies,
      wrong,
      ...rows[0],
      minGapMs: gaps.length === 0 ? null : Math.min(...gaps),
      reloadsPerHost: reloads.map((times, index) => times.length - (reloadsBefore[index] ?? 0)),
      maxResident: Math.max(...memory.map(({ resident }) => resident)),
      maxAnonymous: Math.max(...memory.map(({ anonymous }) => anonymous)),
    };
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM']) process.removeListener(signal, interrupted);
    await stop();
  }
}

/** As a client repeats what an overloaded server refuses. @param {{ api: string, apiKey: string }} platform */
const caller =
  ({ api, apiKey }) =>
  async (/** @type {string} */ method, /** @type {string} */ at, /** @type {unknown} */ body) => {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    };
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(`${api}/api/v3${at}`, { method, headers, body: JSON.stringify(body) });
      const text = await response.text();
      if (response.ok) return JSON.parse(text);
      if (response.status !== 503 || attempt === 10)
        throw new Error(`${method} ${at}: ${response.status} ${text}`);
      await delay(Number(response.headers.get('retry-after') ?? 1) * 1000);
    }
  };

/**
 * @param {Awaited<ReturnType<typeof startPlatform>>} platform
 * @param {pg.Pool} database
 * @param {readonly string[]} names
 */
async function publish({ control, accountId, approvalZone }, database, names) {
  const labels = names.map(() => randomBytes(20).toString('hex'));
  await database.query(
    `INSERT INTO delegation (account_id, dns_name, label) SELECT $1, * FROM unnest($2::text[], $3::text[])`,
    [accountId, names, labels],
  );
  await sideBySide(16, names, async (/** @type {string} */ name, /** @type {number} */ index) => {
    const record = {
      name: `_acme-challenge.${name}`,
      type: 'CNAME',
      value: `${labels[index]}.${approvalZone}`,
    };
    const response = await fetch(`${control}/records`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(record),
    });
    if (!response.ok) throw new Error(`${name}: ${response.status}`);
  });
}

/** @param {pg.Pool} database */
async function certificates(database) {
  const { rows } = await database.query(`SELECT sha256 FROM certificate`);
  return rows.map(({ sha256 }) => sha256);
}

/**
 * Until every installation serves the current certificate of its order.
 * @param {pg.Pool} database
 * @param {number} count
 * @param {(line: string) => void} say
 * @param {readonly Buffer[]} old certificates that do not count
 */
async function served(database, count, say, old = []) {
  let [last, saidAt] = [-1, 0];
  await eventually(
    async () => {
      const { rows } = await database.query(
        `SELECT count(*)::int AS count FROM installation
         JOIN certificate ON certificate.plan_id = installation.plan_id AND is_current
         WHERE state = 'serving' AND certificate_sha256 = certificate.sha256 AND certificate.sha256 <> ALL ($1::bytea[])`,
        [old],
      );
      if (rows[0].count !== last && Date.now() - saidAt > 10_000) {
        say(`${rows[0].count} of ${count} are served`);
        saidAt = Date.now();
      }
      last = rows[0].count;
      return last >= count;
    },
    'installations that serve the current certificate',
    () => `${last} of ${count}`,
  );
}

/** Seconds from the attached certificate to the installation that serves it. @param {pg.Pool} database */
async function latenciesOf(database) {
  const { rows } = await database.query(
    `SELECT extract(epoch FROM since - certificate.created_at)::float AS seconds FROM installation
     JOIN certificate ON certificate.plan_id = installation.plan_id AND is_current`,
  );
  return distribution(rows.map(({ seconds }) => seconds));
}

/** @param {readonly number[]} values */
function distribution(values) {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (/** @type {number} */ share) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
  return { median: at(0.5), p95: at(0.95), max: at(1) };
}

/**
 * As a visitor of every name at every host.
 * @param {pg.Pool} database
 * @param {readonly import('./hosts.mjs').Host[]} hosts
 * @returns {Promise<number>} how many got another certificate than the current one
 */
async function visit(database, hosts) {
  const { rows } = await database.query(
    `SELECT dns_names[1] AS name, encode(sha256, 'hex') AS sha256 FROM certificate WHERE is_current`,
  );
  const current = new Map(rows.map(({ name, sha256 }) => [name, sha256]));
  let wrong = 0;
  const visits = hosts.flatMap(({ port, orders }) => orders.map((name) => ({ port, name })));
  await sideBySide(16, visits, async (/** @type {{ port: number, name: string }} */ { port, name }) => {
    if ((await presentedFor(port, name))?.sha256 !== current.get(name)) wrong++;
  });
  return wrong;
}

/**
 * @param {number} port
 * @param {string} name
 * @returns {Promise<{ sha256: string, dnsNames: string | undefined } | null>} null: no handshake
 */
async function presentedFor(port, name) {
  return await new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, servername: name, rejectUnauthorized: false }, () => {
      const { raw, subjectaltname: dnsNames } = socket.getPeerCertificate();
      resolve({ sha256: createHash('sha256').update(raw).digest('hex'), dnsNames });
      socket.destroy();
    });
    socket.once('error', () => resolve(null));
  });
}

/** @param {import('./hosts.mjs').Host} host @param {string} name @returns when a visitor first got its certificate, ms */
async function servedFor({ port }, name) {
  const isServed = async () => (await presentedFor(port, name))?.dnsNames === `DNS:${name}`;
  const deadline = Date.now() + boundMs;
  while (!(await isServed())) {
    if (Date.now() > deadline) throw new Error(`${name} is not served after ${boundMs / 1000} s`);
    await delay(100);
  }
  return Date.now();
}

/**
 * @param {() => Promise<boolean>} check
 * @param {string} what
 * @param {() => string} state
 */
async function eventually(check, what, state = () => 'not all') {
  const deadline = performance.now() + boundMs;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`${what}: ${state()} after ${boundMs / 1000} s`);
    await delay(250);
  }
}

/**
 * @param {Awaited<ReturnType<typeof startPlatform>>} platform
 * @param {Readonly<Record<string, number>>} agents
 * @param {() => Promise<void>} work
 */
async function measured({ pids }, agents, work) {
  const sum = (/** @type {readonly number[]} */ numbers) => numbers.reduce((total, each) => total + each, 0);
  const spent = () => ({
    server: Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, cpuSeconds(pid)])),
    agents: sum(Object.values(agents).map(cpuSeconds)),
  });
  const before = spent();
  const start = performance.now();
  await work();
  const seconds = (performance.now() - start) / 1000;
  const after = spent();
  const server = Object.entries(after.server).map(([name, cpu]) => [name, cpu - (before.server[name] ?? 0)]);
  return { seconds, server: Object.fromEntries(server), agents: after.agents - before.agents };
}

/**
 * @param {{ clusters: number, hosts: number, keyType: string }} size
 * @param {Awaited<ReturnType<typeof measureManaged>>} result
 */
function section({ clusters, hosts, keyType }, result) {
  const { alone, first, renewal, latencies } = result;
  const all = (/** @type {ReturnType<typeof distribution>} */ { median, p95, max }) =>
    [median, p95, max].map(s).join(', ');
  const s = (/** @type {number} */ seconds) => `${seconds.toFixed(1)} s`;
  const mb = (/** @type {number} */ bytes) => `${(bytes / 1e6).toFixed(0)} MB`;
  const cpu = Object.entries(renewal.server).map(([name, seconds]) => `${name} ${s(Number(seconds))}`);
  const reloads = result.reloadsPerHost;
  const gap = result.minGapMs === null ? 'one reload only' : s(result.minGapMs / 1000);
  const machine = `${os.cpus().length} cores (${os.cpus()[0]?.model.trim()}), Node ${process.version}, fsync on. Agents, nginx and platform share them.`;
  const rows = table([
    ['what', 'measured', 'limit'],
    [
      '**one order alone: POST → visitors of each host get it: median, p95, max**',
      `**${all(alone.ordered)}**`,
      `p95 ${s(limits.orderedP95S)}`,
    ],
    ['the same from attached', all(alone.attached), s(limits.attachedS)],
    [
      `**due renewals until every visitor gets the new certificate**`,
      `**${s(renewal.seconds)}**`,
      s(limits.servedWithinS),
    ],
    ['the same for new orders', s(first.seconds), ''],
    ['attached → served: median, p95, max', all(latencies), ''],
    ['least time between two reloads of a server', gap, s(limits.reloadGapMs / 1000)],
    [
      'reloads of a server for its renewals: least, most',
      `${Math.min(...reloads)}, ${Math.max(...reloads)}`,
      '',
    ],
    ['visitors who got another certificate at the end', result.wrong, 0],
    [
      'certificates, keys, sealed keys',
      `${result.certificates}, ${result.keys}, ${result.sealed}`,
      `${2 * result.orders}, ${2 * result.orders}, ${2 * result.orders * (hosts - 1)}`,
    ],
    [
      'CPU of the renewals: agents with their nginx',
      `${s(renewal.agents)}, ${((renewal.agents * 1000) / result.installations).toFixed(0)} ms per installation`,
      '',
    ],
    ['CPU of the renewals: platform', cpu.join(', '), ''],
    [
      'memory of an agent right after, at most: resident, anonymous',
      `${mb(result.maxResident)}, ${mb(result.maxAnonymous)}`,
      '90 MB, 30 MB',
    ],
  ]);
  return {
    name: 'managed',
    text: `## Managed orders

${result.orders} orders (${keyType}) of ${clusters} clusters with ${hosts} hosts each: ${result.installations} installations, all renewed at once with a new key each.
Every host has its agent process and its nginx. ${machine}

${rows}
`,
  };
}
