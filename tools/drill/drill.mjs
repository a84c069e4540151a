// @ts-check
// The steps of docs/runbooks/backup-and-restore.md with a platform of its own, and what must be true at the end.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { loadavg } from 'node:os';
import { certificationRequest } from '../bench/issuance/certification-requests.mjs';
import { send, sideBySide } from '../bench/issuance/issuance.mjs';
import { run, stopChild } from '../embedded/child.mjs';
import { freePort, LOOPBACK } from '../embedded/ports.mjs';
import { redisBinary } from '../embedded/redis-binaries.mjs';
import { startRedis } from '../embedded/redis.mjs';
import { query } from '../faults/monitoring/postgres-pair.mjs';
import { UNLIMITED } from '../faults/platform.mjs';
import { until } from '../faults/until.mjs';
import { APPROVAL_ZONE, apps, caPublicationUrl } from '../up/apps.mjs';
import { caAccountKeysFile, dnsUpdateKey, home, places, sealingKeysFile } from '../up/home.mjs';
import { bundleAll, createCa, makeGatewayKeys, migrate } from '../up/programs.mjs';
import { sandboxAccount } from '../up/sandbox-account.mjs';
import { appService } from '../up/services.mjs';
import { workspaceRoot } from '../up/workspace.mjs';
import { ArchivedPostgres } from './archived-postgres.mjs';

const CT_DATABASE = 'certwright_ct';
const POINT = 'drill';
/** The outside world survives. */
const PEERS = ['demo-dns', 'mailbox', 'demo-log'];
const APPS = ['dns-gateway', 'orders-v3', 'issuance-worker', 'approval-responder', 'ct-ingest', 'notifier'];
/** Every issuance of it is charged for. */
const SOLD_PRODUCT = 'paid_ca';
const CLIENTS = 8;
const STEP_WITHIN_MS = 20 * 60_000;
const REVOKED = 5;
/** Events since the restore point happen again. */
const MAX_REPETITIONS = 2;

/** @param {{ orders: number, node: string, signal: AbortSignal, say: (line: string) => void }} how */
export async function drill({ orders, node, signal, say }) {
  say('building');
  await bundleAll();
  const safe = path.join(home, 'safe');
  mkdirSync(safe);
  const ports = await portsOf();
  const postgres = new ArchivedPostgres({ folder: safe, port: await freePort(), signal });
  const redisPort = await freePort();
  const binary = await redisBinary({ cache: path.join(workspaceRoot, '.certwright/redis-binaries'), signal });
  const startStore = () => startRedis({ binary, folder: places.redis, port: redisPort, signal });
  say('starting PostgreSQL with an archive, Redis and the processes');
  await postgres.start();
  let redis = await startStore();
  const urls = () => ({ databaseUrl: postgres.url(), ctDatabaseUrl: postgres.url(CT_DATABASE) });
  const urlOf = await migrate(node, urls(), { create: true, signal, say });
  await makeGatewayKeys(node, signal);
  Object.assign(process.env, UNLIMITED);
  const deployment = {
    ...{ home, ...urls(), urlOf, redisUrl: redis.url, sealingKeysFile: sealingKeysFile() },
    ...{
      caAccountKeysFile: caAccountKeysFile(),
      dnsUpdateKey: dnsUpdateKey(),
      logLevel: 'info',
      port: ports,
    },
  };
  await createCa(node, { databaseUrl: postgres.url(), publicationUrl: caPublicationUrl(deployment), signal });
  /** @type {Map<string, import('../embedded/child.mjs').Child>} */
  const running = new Map();
  const start = async (/** @type {readonly string[]} */ names) => {
    for (const app of apps.filter(({ name }) => names.includes(name)))
      running.set(app.name, (await appService(app, deployment, node).start(signal)).child);
  };
  const admin = async (/** @type {string[]} */ ...args) => {
    const program = path.join(workspaceRoot, 'dist/tools/admin/main.js');
    const env = { ...process.env, DATABASE_URL: postgres.url(), CT_DATABASE_URL: postgres.url(CT_DATABASE) };
    return (await run(node, [program, ...args], { env, signal, timeoutMs: STEP_WITHIN_MS })).stdout.trim();
  };
  const receiver = await webhookReceiver();
  try {
    await start(PEERS);
    await start(APPS);
    const ordersApi = `http://${LOOPBACK}:${ports('orders-v3', 'http')}`;
    const account = await sandboxAccount({
      known: undefined,
      ordersApi,
      node,
      databaseUrl: postgres.url(),
      signal,
    });
    const customer = new OrderingCustomer({
      ordersApi,
      account,
      control: `http://${LOOPBACK}:${ports('demo-dns', 'control')}`,
    });
    await customer.createWebhook(receiver.url);
    say(`making ${orders} keys and CSRs, and publishing their standing records`);
    await customer.prepare(orders, (text, values) => postgres.query(text, values));
    const count = async () =>
      (await postgres.query('SELECT count(*)::int AS count FROM certificate'))[0].count;
    const attached = (/** @type {number} */ wanted) =>
      until(async () => (await count()) >= wanted, {
        what: `${wanted} certificates`,
        withinMs: STEP_WITHIN_MS,
      });

    // Between them certificates are issued; the last orders are not in the restored database.
    const partOf = (/** @type {number} */ part) => Math.floor(orders * part);
    const [backedUp, atPoint, known] = /** @type {const} */ ([partOf(1 / 4), partOf(3 / 4), partOf(9 / 10)]);
    say(`${backedUp} orders, then the base backup`);
    await customer.order(0, backedUp);
    await attached(backedUp);
    await postgres.backUp();
    say(`${orders - backedUp} more orders; the restore point is among them`);
    const rest = customer.order(backedUp, known);
    await attached(atPoint);
    await postgres.query(`SELECT pg_create_restore_point('${POINT}')`);
    await rest;
    await customer.order(known, orders);
    await attached(orders);
    const revokedSerials = await revokeSome({ postgres, admin, safe });
    // Each is replaced, once.
    await attached(orders + REVOKED);
    const allAreLogged = async () => {
      // The logs of a certificate are chosen after it was attached.
      const text = `SELECT count(*)::int AS open FROM certificate LEFT JOIN log_submission ON certificate_id = certificate.id
        WHERE logged_at IS NULL`;
      return (await postgres.query(text))[0].open === 0;
    };
    await until(allAreLogged, { what: 'every certificate to be logged', withinMs: STEP_WITHIN_MS });
    const issued = await issuedCertificates(postgres);
    const list = path.join(safe, 'intermediate.crl');
    await until(
      async () => {
        writeFileSync(list, await download(`${caPublicationUrl(deployment)}/intermediate.crl`));
        const { stdout } = await run('openssl', ['crl', '-inform', 'DER', '-in', list, '-noout', '-text']);
        return revokedSerials.every((serial) => stdout.toLowerCase().includes(serial));
      },
      { what: 'the revocation list', withinMs: STEP_WITHIN_MS },
    );
    const noWebhookWaits = async () => {
      const text = `SELECT count(*)::int AS waiting FROM webhook_delivery WHERE state = 'pending'`;
      return (await postgres.query(text))[0].waiting === 0;
    };
    await until(noWebhookWaits, { what: 'every webhook', withinMs: STEP_WITHIN_MS });
    const delivered = new Map(receiver.counts);
    await postgres.archiveAll();

    say('losing everything but keys, backup and archive');
    for (const name of APPS) await stopChild(must(running.get(name)), { signal: 'SIGKILL' });
    await postgres.lose();
    await redis.stop();
    for (const each of [places.redis, path.join(home, 'logs')])
      rmSync(each, { recursive: true, force: true });
    mkdirSync(path.join(home, 'logs'));

    const begunMs = performance.now();
    const took = () => `${((performance.now() - begunMs) / 1_000).toFixed(1)} s`;
    await postgres.restore(POINT);
    redis = await startStore();
    await admin('issuance', 'hold', '--reason', `restored to ${POINT}`);
    await migrate(node, urls(), { create: false, signal, say });
    const restored = await count();
    const survived = new Set((await postgres.query('SELECT name FROM order_v3')).map(({ name }) => name));
    say(`restored after ${took()}: ${survived.size} of ${orders} orders, ${restored} certificates; held`);
    await start(['ct-ingest']);
    const serials = [...issued.keys()].map((serial) => Buffer.from(serial, 'hex'));
    await until(
      async () => {
        const text = 'SELECT count(*)::int AS known FROM ct_issuance WHERE serial = ANY ($1::bytea[])';
        return (await query(postgres.url(CT_DATABASE), text, [serials]))[0].known === issued.size;
      },
      { what: 'the index to have what was logged', withinMs: STEP_WITHIN_MS },
    );
    say(`index complete after ${took()}`);
    say(`  ${lastLine(await admin('issuance', 'reconcile', '--revocation-list', list))}`);
    await start(APPS.filter((name) => name !== 'ct-ingest'));
    say(`all processes ready after ${took()}`);
    const lost = customer.names.filter((name) => !survived.has(name));
    await customer.orderAgain(lost);
    say(`  the customer repeated ${lost.length} lost orders`);
    say(`  ${lastLine(await admin('issuance', 'reconcile', '--revocation-list', list))}`);
    const problems = [];
    if ((await count()) !== restored) problems.push('something was issued while issuances were held');
    if (!readFileSync(places.log('issuance-worker'), 'utf8').includes('issuances are held'))
      problems.push('the worker did not report that issuances are held');
    await admin('issuance', 'release');
    await until(
      async () =>
        (await postgres.query(`SELECT count(*)::int AS open FROM issuance WHERE state = 'open'`))[0].open ===
        0,
      {
        what: 'every issuance to end',
        withinMs: STEP_WITHIN_MS,
      },
    );
    const seconds = (performance.now() - begunMs) / 1_000;
    await until(noWebhookWaits, { what: 'every webhook', withinMs: STEP_WITHIN_MS });
    problems.push(
      ...(await compare({
        postgres,
        issued,
        revokedSerials,
        receiver,
        delivered,
        url: `${caPublicationUrl(deployment)}/intermediate.crl`,
        safe,
      })),
    );
    for (const problem of problems.slice(0, 20)) say(`  PROBLEM ${problem}`);
    if (problems.length > 0) throw new Error(`${problems.length} problems; the first: ${problems[0]}`);
    say(
      `${orders} orders restored in ${seconds.toFixed(0)} s (load average ${loadavg()[0]?.toFixed(1)}): every certificate is the one that ` +
        `was issued before, none was issued or charged twice, ${REVOKED} revocations hold, and no event was delivered more than twice as often as before.`,
    );
  } finally {
    receiver.close();
    for (const child of running.values()) await stopChild(child, { signal: 'SIGKILL' });
    await postgres.stop();
    await redis.stop();
  }
}

/** @template T @param {T | undefined} value @returns {T} */
function must(value) {
  if (value === undefined) throw new Error('it was started');
  return value;
}

const lastLine = (/** @type {string} */ text) => text.split('\n').at(-1) ?? '';

/** @returns {Promise<(app: string, port: string) => number>} */
async function portsOf() {
  /** @type {Map<string, number>} */
  const given = new Map();
  for (const app of apps)
    for (const name of Object.keys(app.ports)) given.set(`${app.name} ${name}`, await freePort());
  return (app, name) => must(given.get(`${app} ${name}`));
}

/** Counts deliveries by content, whatever their id: a repeated one may have another. */
async function webhookReceiver() {
  /** @type {Map<string, number>} */
  const counts = new Map();
  const server = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text) => (body += text));
    request.on('end', () => {
      const key = `${String(request.headers['webhook-event'])} ${/"name":"([^"]+)"/.exec(body)?.[1] ?? body}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
      response.writeHead(204).end();
    });
  });
  await new Promise((resolve) => server.listen(0, LOOPBACK, () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://${LOOPBACK}:${port}/`,
    counts,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

class OrderingCustomer {
  #agent = new http.Agent({ keepAlive: true, maxSockets: CLIENTS });
  /** @type {string[]} */
  names = [];
  /** @type {Map<string, object>} by name */
  #bodies = new Map();

  /** @param {{ ordersApi: string, control: string, account: { account_id: string, api_key: string } }} at */
  constructor({ ordersApi, control, account }) {
    this.api = `${ordersApi}/api/v3`;
    this.control = control;
    this.account = account;
  }

  /** @param {string} url */
  async createWebhook(url) {
    await this.#post(`${this.api}/account/webhooks`, { url });
  }

  /**
   * @param {number} count
   * @param {(text: string, values: readonly unknown[]) => Promise<unknown>} database
   */
  async prepare(count, database) {
    this.names = Array.from({ length: count }, (_, index) => `www${index}.drill.example.com`);
    const labels = this.names.map(() => randomBytes(20).toString('hex'));
    await database(
      `INSERT INTO delegation (account_id, dns_name, label) SELECT $1, * FROM unnest($2::text[], $3::text[])`,
      [this.account.account_id, this.names, labels],
    );
    await sideBySide(CLIENTS, this.names, async (/** @type {string} */ name, /** @type {number} */ index) => {
      const value = `${labels[index]}.${APPROVAL_ZONE}`;
      await send(
        this.#agent,
        `${this.control}/records`,
        {},
        { name: `_acme-challenge.${name}`, type: 'CNAME', value },
      );
      const csr = certificationRequest(name);
      this.#bodies.set(name, { name, dns_names: [name], csr, product: SOLD_PRODUCT });
    });
  }

  /** @param {number} from @param {number} to */
  async order(from, to) {
    await this.orderAgain(this.names.slice(from, to));
  }

  /** @param {readonly string[]} names */
  async orderAgain(names) {
    await sideBySide(CLIENTS, names, async (/** @type {string} */ name) => {
      await this.#post(`${this.api}/orders`, must(this.#bodies.get(name)));
    });
  }

  /** @param {string} url @param {object} body */
  async #post(url, body) {
    await send(this.#agent, url, { authorization: `Bearer ${this.account.api_key}` }, body);
  }
}

/**
 * After the restore point, so that the revocations are lost with the database.
 * @param {{ postgres: ArchivedPostgres, admin: (...args: string[]) => Promise<string>, safe: string }} at
 * @returns {Promise<string[]>} serial numbers
 */
async function revokeSome({ postgres, admin, safe }) {
  const rows = await postgres.query(
    'SELECT serial_number AS serial FROM certificate ORDER BY created_at, id LIMIT $1',
    [REVOKED],
  );
  const serials = rows.map(({ serial }) => serial);
  const file = path.join(safe, 'serials.txt');
  writeFileSync(file, `${serials.join('\n')}\n`);
  await admin(
    'certificate',
    'revoke-all',
    '--serials',
    file,
    '--reason',
    'privilegeWithdrawn',
    '--per-second',
    '500',
    '--execute',
  );
  return serials;
}

/** @param {ArchivedPostgres} postgres @returns {Promise<Map<string, string>>} names by serial number */
async function issuedCertificates(postgres) {
  const rows = await postgres.query('SELECT dns_names[1] AS name, serial_number AS serial FROM certificate');
  return new Map(rows.map(({ name, serial }) => [serial, name]));
}

/** @param {string} url */
async function download(url) {
  return Buffer.from(await (await fetch(url)).arrayBuffer());
}

/**
 * @param {{ postgres: ArchivedPostgres, issued: Map<string, string>, revokedSerials: readonly string[],
 *   receiver: { counts: Map<string, number> }, delivered: ReadonlyMap<string, number>, url: string, safe: string }} what url: of the revocation list
 * @returns {Promise<string[]>} problems
 */
async function compare({ postgres, issued, revokedSerials, receiver, delivered, url, safe }) {
  const problems = [];
  const rows = await postgres.query('SELECT dns_names[1] AS name, serial_number AS serial FROM certificate');
  if (rows.length !== issued.size) problems.push(`${rows.length} certificates instead of ${issued.size}`);
  for (const { name, serial } of rows)
    if (issued.get(serial) !== name)
      problems.push(`${name} has the certificate ${serial}, which was not issued for it`);
  const [{ twice }] = await postgres.query(
    `SELECT count(*)::int AS twice FROM (SELECT FROM charge WHERE refunded_at IS NULL GROUP BY plan_id HAVING count(*) > 1) AS charged`,
  );
  if (twice > 0) problems.push(`${twice} orders were charged twice`);
  const [{ signings }] = await postgres.query('SELECT count(*)::int AS signings FROM ca_signing');
  if (signings !== issued.size) problems.push(`${signings} signings of ${issued.size} certificates`);
  const [{ revoked }] = await postgres.query(
    'SELECT count(*)::int AS revoked FROM certificate WHERE revoked_at IS NOT NULL AND serial_number = ANY ($1)',
    [revokedSerials],
  );
  if (revoked !== revokedSerials.length)
    problems.push(`${revoked} of ${revokedSerials.length} revocations are stored`);
  const file = path.join(safe, 'after.crl');
  await until(
    async () => {
      writeFileSync(file, await download(url));
      const { stdout } = await run('openssl', ['crl', '-inform', 'DER', '-in', file, '-noout', '-text']);
      return revokedSerials.every((serial) => stdout.toLowerCase().includes(serial));
    },
    { what: 'the revocations on the new list', withinMs: STEP_WITHIN_MS },
  );
  for (const [event, times] of receiver.counts)
    if (times > MAX_REPETITIONS * (delivered.get(event) ?? 0))
      problems.push(`${event}: ${times} deliveries, ${delivered.get(event) ?? 0} of them before the loss`);
  return problems;
}
