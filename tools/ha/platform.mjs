// @ts-check
// Two copies of every app behind HAProxy, with PgBouncer, Patroni and several Redis servers.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { launch, run } from '../embedded/child.mjs';
import { freePort, LOOPBACK } from '../embedded/ports.mjs';
import { startPgbouncer } from '../embedded/pgbouncer.mjs';
import { Copy } from '../faults/monitoring/platform.mjs';
import { allChecksPass, UNLIMITED } from '../faults/platform.mjs';
import { until } from '../faults/until.mjs';
import { apps, caPublicationUrl, gatewayFolder } from '../up/apps.mjs';
import { databaseRoles } from '../up/database-roles.mjs';
import {
  caAccountKeysFile,
  databasePassword,
  dnsUpdateKey,
  home,
  places,
  sealingKeysFile,
} from '../up/home.mjs';
import { createCa, makeGatewayKeys, migrate } from '../up/programs.mjs';
import { appService } from '../up/services.mjs';
import { NODE_FLAGS, workspaceRoot } from '../up/workspace.mjs';
import { LEARNS_LATE_MS, startBalancer } from './balancer.mjs';
import { startLinks } from './links.mjs';
import { mountDisk } from './disk.mjs';
import { NODES, PatroniCluster } from './patroni.mjs';
import { program } from './programs.mjs';

export const DATABASES = /** @type {const} */ ({ core: 'certwright', ct: 'certwright_ct' });
const COPIES = [1, 2];
/** Of a part with small disks: PostgreSQL writes about 400 MB. */
const POSTGRES_MB = 2_048;
const AUDIT_MB = 8;
/** On a loaded machine. */
const READY_WITHIN_MS = 240_000;

/** Of every process that has such a setting. The balancer needs up to two seconds to learn that a copy stops. */
const SETTINGS = {
  ...UNLIMITED,
  SHUTDOWN_DELAY: `${2 * LEARNS_LATE_MS}ms`,
  DATABASE_POOLER: 'transaction',
  LEASE_TIME: '5s',
};

/** Two copies, both of which run unless a part stops one. */
export class App {
  /**
   * @param {string} name
   * @param {readonly Copy[]} copies
   */
  constructor(name, copies) {
    this.name = name;
    this.copies = copies;
  }
}

/**
 * @typedef {object} HaPlatform
 * @property {PatroniCluster} postgres
 * @property {import('./redis-servers.mjs').RedisServers} redis
 * @property {import('./links.mjs').Links} links between the copies and PgBouncer
 * @property {readonly App[]} apps
 * @property {{ name: string, folder: string }} gatewayDisk the audit log of one gateway
 * @property {(app: string, port: string) => string} url of the balancer
 * @property {(app: string, port: string) => number} port of the balancer, or of a copy for DNS
 * @property {import('../up/apps.mjs').DnsUpdateKey} dnsUpdateKey
 * @property {() => Promise<{ account_id: string, api_key: string }>} newAccount
 * @property {(...args: string[]) => Promise<string>} migrate
 * @property {() => string[]} ended processes that have exited by themselves
 * @property {() => Promise<void>} untilReady every copy, with all that it uses
 * @property {() => Promise<void>} stop
 */

/**
 * @param {{ node: string, folder: string, redis: (folder: string, signal: AbortSignal) => Promise<import('./redis-servers.mjs').RedisServers>, beforeNewest: boolean, smallDisks: boolean, signal: AbortSignal, say: (line: string) => void }} how
 *   beforeNewest: the newest migration of each database is pending. smallDisks: each PostgreSQL server and the audit log of a
 *   gateway have a file system of their own
 * @returns {Promise<HaPlatform>}
 */
export async function startPlatform({
  node,
  folder,
  redis: startRedisServers,
  beforeNewest,
  smallDisks,
  signal,
  say,
}) {
  say('starting etcd, three PostgreSQL servers under Patroni, Redis, HAProxy and PgBouncer');
  const serverFolder = (/** @type {string} */ name) => {
    const own = path.join(folder, name);
    mkdirSync(own, { recursive: true, mode: 0o700 });
    return own;
  };
  const postgres = new PatroniCluster(serverFolder('patroni'), signal);
  const gatewayDisk = { name: 'dns-gateway-1', folder: auditFolder(1) };
  const disks = smallDisks
    ? [
        ...NODES.map((name) => [path.join(folder, 'patroni', name), POSTGRES_MB]),
        [gatewayDisk.folder, AUDIT_MB],
      ]
    : [];
  const unmount = await Promise.all(disks.map(([at, size]) => mountDisk(String(at), Number(size))));
  const [redis] = await Promise.all([
    startRedisServers(serverFolder('redis-servers'), signal),
    postgres.start(Object.values(DATABASES)),
  ]);
  const ports = await portsOf();
  const primaryPort = await freePort();
  const balancer = await startBalancer(
    serverFolder('haproxy'),
    services(ports, primaryPort, postgres),
    signal,
  );
  const direct = {
    databaseUrl: postgres.url(primaryPort, DATABASES.core),
    ctDatabaseUrl: postgres.url(primaryPort, DATABASES.ct),
  };
  await until(async () => await accepts(postgres, primaryPort), {
    what: 'HAProxy to find the primary',
    withinMs: READY_WITHIN_MS,
  });
  // Not through HAProxy, which treats every server as a primary until its first checks, and then ends the sessions.
  const { port: first } = await postgres.requiredPrimary();
  const own = { databaseUrl: at(direct.databaseUrl, first), ctDatabaseUrl: at(direct.ctDatabaseUrl, first) };
  const urlOf = await migrate(node, own, { create: false, signal, say });
  const migrateEnvironment = migrationSettings(direct);
  const publicationUrl = caPublicationUrl({ port: ports.balanced });
  await createCa(node, { databaseUrl: direct.databaseUrl, publicationUrl, signal });
  const runMigrate = async (/** @type {string[]} */ ...args) => {
    const file = path.join(workspaceRoot, 'dist/tools/migrate/main.js');
    return (await run(node, [file, ...args], { env: migrateEnvironment, signal })).stdout;
  };
  if (beforeNewest) for (const name of ['core', 'ct']) await runMigrate('--revert', '--database', name);
  const pooler = await keepPooling(
    {
      binary: program('pgbouncer'),
      folder: serverFolder('pgbouncer'),
      postgresPort: primaryPort,
      passwords: rolePasswords(urlOf, direct.databaseUrl),
      settings: { max_client_conn: 3_000, server_idle_timeout: 60, server_connect_timeout: 2 },
    },
    say,
  );
  const { links } = pooler;
  await makeGatewayKeys(node, signal);
  Object.assign(process.env, SETTINGS);
  const deployment = {
    ...{ home, urlOf, dnsUpdateKey: dnsUpdateKey(), redisUrl: redis.url },
    ...{ sealingKeysFile: sealingKeysFile(), caAccountKeysFile: caAccountKeysFile() },
    ...{ logLevel: 'info', port: ports.balanced },
    databaseUrl: at(direct.databaseUrl, links.port),
    ctDatabaseUrl: at(direct.ctDatabaseUrl, links.port),
  };
  /** @type {string[]} */
  const ended = [];
  const copyOf = (/** @type {import('../up/apps.mjs').App} */ app, /** @type {number} */ count) => {
    const own = app.peer ? app.name : `${app.name}-${count}`;
    const environment = (/** @type {import('../up/apps.mjs').Deployment} */ each) => ({
      ...app.environment(each),
      ...(app.peer ? {} : ownSettings(app, ports, count)),
    });
    const service = appService(
      { ...app, name: own, environment, ports: app.ports },
      { ...deployment, port: healthPort(ports, app, count) },
      node,
    );
    const launchIt = () =>
      launch({
        command: node,
        args: [...NODE_FLAGS, service.program],
        ...{ cwd: service.cwd, env: service.environment, pidFile: service.pidFile, logFile: places.log(own) },
      });
    const url = (/** @type {string} */ port) => `http://${LOOPBACK}:${ports.of(app.name, port, count)}`;
    const [main = ''] = Object.keys(app.ports);
    return new Copy(own, url(main), launchIt, `${url(app.health.port)}${app.health.path}`, (how) =>
      ended.push(how),
    );
  };
  const peers = apps.filter(({ peer }) => peer).map((app) => copyOf(app, 1));
  const all = apps
    .filter(({ peer }) => !peer)
    .map(
      (app) =>
        new App(
          app.name,
          COPIES.map((count) => copyOf(app, count)),
        ),
    );
  say('starting two copies of every app');
  for (const peer of peers) await peer.start();
  for (const peer of peers) await peer.untilReady();
  const copies = all.flatMap((app) => app.copies);
  for (const copy of copies) await copy.start();
  const untilReady = async () => {
    const waits = copies.map(
      async ({ name, health }) =>
        void (await until(async () => ended.length > 0 || (await allChecksPass(health)()), {
          what: `${name} to be ready`,
          withinMs: READY_WITHIN_MS,
        })),
    );
    await Promise.all(waits);
    if (ended.length > 0) throw new Error(`processes have exited: ${ended.join(', ')}`);
  };
  await untilReady();
  const resolver = followResponders(all, ports);
  const port = (/** @type {string} */ app, /** @type {string} */ which) =>
    which === 'dns' && app === 'approval-responder' ? resolver.next() : ports.balanced(app, which);
  return {
    ...{
      postgres,
      redis,
      links,
      gatewayDisk,
      apps: all,
      dnsUpdateKey: deployment.dnsUpdateKey,
      port,
      untilReady,
    },
    url: (app, which) => `http://${LOOPBACK}:${ports.balanced(app, which)}`,
    newAccount: async () => {
      const env = { ...process.env, DATABASE_URL: direct.databaseUrl, DATABASE_POOLER: 'none' };
      const file = path.join(workspaceRoot, 'dist/tools/admin/main.js');
      return JSON.parse((await run(node, [file, 'seed-sandbox', '--json'], { env, signal })).stdout);
    },
    migrate: runMigrate,
    ended: () => [...ended],
    stop: async () => {
      resolver.stop();
      for (const copy of [...copies, ...peers]) await copy.end();
      await pooler.stop();
      await balancer.stop();
      await redis.stop();
      await postgres.stop();
      for (const each of unmount) await each();
    },
  };
}

/**
 * PgBouncer behind links. One that ends is started again, as by systemd.
 * @param {Parameters<typeof startPgbouncer>[0]} how
 * @param {(line: string) => void} say
 */
async function keepPooling(how, say) {
  let pooler = await startPgbouncer(how);
  let isStopping = false;
  const links = await startLinks(pooler.port);
  const watch = () =>
    void pooler.child.ended.then(async (end) => {
      if (isStopping) return;
      say(`  PgBouncer has ended (${end}) and is started again; its log is in ${how.folder}`);
      pooler = await startPgbouncer(how);
      links.connectTo(pooler.port);
      watch();
    });
  watch();
  return {
    links,
    stop: async () => {
      isStopping = true;
      links.close();
      await pooler.stop();
    },
  };
}

/** @param {string} url @param {number} port */
function at(url, port) {
  const own = new URL(url);
  own.port = String(port);
  return own.href;
}

/** @param {{ databaseUrl: string, ctDatabaseUrl: string }} direct */
function migrationSettings({ databaseUrl, ctDatabaseUrl }) {
  const roles = databaseRoles(databaseUrl);
  return {
    ...process.env,
    ...{ DATABASE_URL: databaseUrl, CT_DATABASE_URL: ctDatabaseUrl },
    ...{ DATABASE_ROLE_PREFIX: roles.prefix, DATABASE_ROLE_PASSWORDS_DIR: roles.passwordsFolder },
  };
}

/**
 * @param {import('../up/database-roles.mjs').UrlOf} urlOf
 * @param {string} databaseUrl
 */
function rolePasswords(urlOf, databaseUrl) {
  const roles = apps.filter(({ peer }) => !peer).map(({ name }) => name);
  return Object.fromEntries(
    roles.map((app) => [new URL(urlOf(app, databaseUrl)).username, databasePassword(app)]),
  );
}

/** @param {PatroniCluster} postgres @param {number} port */
async function accepts(postgres, port) {
  const { query } = await import('../faults/monitoring/postgres-pair.mjs');
  return await query(postgres.url(port, 'postgres'), 'SELECT 1');
}

/**
 * @typedef {object} Ports
 * @property {(app: string, port: string) => number} balanced by which other processes and clients reach it; of a single process its own
 * @property {(app: string, port: string, count: number) => number} of one copy
 */

/** @returns {Promise<Ports>} */
async function portsOf() {
  /** @type {Map<string, number>} */
  const given = new Map();
  for (const app of apps)
    for (const name of Object.keys(app.ports))
      for (const count of [0, ...COPIES]) given.set(`${app.name} ${name} ${count}`, await freePort());
  const find = (/** @type {string} */ app, /** @type {string} */ name, /** @type {number} */ count) => {
    const port = given.get(`${app} ${name} ${count}`);
    if (port === undefined) throw new Error(`The app ${app} has no port "${name}".`);
    return port;
  };
  const isPeer = (/** @type {string} */ name) => apps.some((app) => app.name === name && app.peer);
  return {
    balanced: (app, name) => find(app, name, 0),
    of: (app, name, count) => find(app, name, isPeer(app) ? 0 : count),
  };
}

/**
 * An app finds others at the balancer, and its own health at its own port.
 * @param {Ports} ports
 * @param {import('../up/apps.mjs').App} own
 * @param {number} count
 */
const healthPort = (ports, own, count) => (/** @type {string} */ app, /** @type {string} */ name) =>
  app === `${own.name}-${count}` ? ports.of(own.name, name, count) : ports.balanced(app, name);

/**
 * Where a copy listens, and what it does not share with the other one.
 * @param {import('../up/apps.mjs').App} app
 * @param {Ports} ports
 * @param {number} count
 */
function ownSettings({ name, ports: wanted }, ports, count) {
  const served = Object.keys(wanted).find((port) => port === 'http' || port === 'https');
  const responders = COPIES.map((each) => `${LOOPBACK}:${ports.of('approval-responder', 'dns', each)}`);
  return {
    OPS_PORT: String(ports.of(name, 'ops', count)),
    ...(served === undefined ? {} : { PORT: String(ports.of(name, served, count)) }),
    ...('dns' in wanted ? { DNS_PORT: String(ports.of(name, 'dns', count)) } : {}),
    ...(name === 'dns-gateway' ? { AUDIT_DIR: auditFolder(count), AUDIT_INSTANCE: `gateway-${count}` } : {}),
    ...(name === 'issuance-worker' ? { APPROVAL_RESPONDERS: responders.join(',') } : {}),
  };
}

/** @param {number} count of the gateway */
function auditFolder(count) {
  return path.join(gatewayFolder(home), `audit-${count}`);
}

/**
 * @param {Ports} ports
 * @param {number} primaryPort
 * @param {PatroniCluster} postgres
 * @returns {import('./balancer.mjs').Service[]}
 */
function services(ports, primaryPort, postgres) {
  const ofApps = apps
    .filter(({ peer, ports: wanted }) => !peer && ('http' in wanted || 'https' in wanted))
    .map(({ name, ports: wanted, health }) => {
      const served = 'http' in wanted ? 'http' : 'https';
      return {
        name,
        mode: /** @type {'http' | 'tcp'} */ (served === 'http' ? 'http' : 'tcp'),
        port: ports.balanced(name, served),
        path: health.path,
        check: `inter ${LEARNS_LATE_MS}ms fall 1 rise 1`,
        servers: COPIES.map((count) => ({
          port: ports.of(name, served, count),
          healthPort: ports.of(name, health.port, count),
        })),
      };
    });
  const servers = postgres.nodes.map(({ port, restPort }) => ({ port, healthPort: restPort }));
  const check = 'inter 1s fall 2 rise 1 on-marked-down shutdown-sessions';
  return [...ofApps, { name: 'postgres', mode: 'tcp', port: primaryPort, path: '/primary', check, servers }];
}

/**
 * HAProxy does not balance UDP. This one learns of an exit equally late.
 * @param {readonly App[]} all
 * @param {Ports} ports
 */
function followResponders(all, ports) {
  const copies = all.find(({ name }) => name === 'approval-responder')?.copies ?? [];
  const known = copies.map((copy, index) => ({
    probe: isReadyAt(copy.health),
    port: ports.of('approval-responder', 'dns', index + 1),
    isReady: true,
  }));
  const timer = setInterval(() => {
    for (const each of known) void each.probe().then((isReady) => (each.isReady = isReady));
  }, LEARNS_LATE_MS);
  let turn = 0;
  return {
    next: () => {
      const ready = known.filter(({ isReady }) => isReady);
      const usable = ready.length > 0 ? ready : known;
      return usable[(turn += 1) % usable.length]?.port ?? 0;
    },
    stop: () => clearInterval(timer),
  };
}

/** @param {string} url */
const isReadyAt = (url) => async () => {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1_000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
};
