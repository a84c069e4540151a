// @ts-check
// Starts the whole system on one machine: stores, migrations, peers, apps. Stops it in the opposite order.
import { setTimeout as delay } from 'node:timers/promises';
import { LOOPBACK } from '../embedded/ports.mjs';
import { clearPostgres } from '../embedded/postgres.mjs';
import { clearRedis } from '../embedded/redis.mjs';
import { apps, caPublicationUrl } from './apps.mjs';
import {
  caAccountKeysFile,
  dnsUpdateKey,
  home,
  places,
  readState,
  sealingKeysFile,
  stopOrphans,
  takeHome,
  writeState,
} from './home.mjs';
import { keepRunning } from './keep-running.mjs';
import { assignPorts, wantedPorts } from './ports.mjs';
import { bundleAll, createCa, makeGatewayKeys, migrate } from './programs.mjs';
import { requireParts } from './requirements.mjs';
import { sandboxAccount } from './sandbox-account.mjs';
import { appService, postgresService, redisService } from './services.mjs';
import { announcement, describe } from './start-state.mjs';
import { stopRequest } from './stop-request.mjs';
import { offerTakeOver } from './take-over.mjs';
import { installPackages, nodeBinary, workspaceRoot } from './workspace.mjs';

/** Beside the core database, on the embedded server. */
const CT_DATABASE = 'certwright_ct';
const SIGNAL_DELIVERY_MS = 100;

/**
 * @typedef {() => void | Promise<void>} Undo
 * @typedef {import('./keep-running.mjs').Service} Service
 */

const say = (/** @type {string} */ line) => console.log(line);
const complain = (/** @type {unknown} */ error) =>
  console.error(error instanceof Error ? error.message : error);

/**
 * Runs until it is stopped.
 * @returns {Promise<number>} exit code: 0 after an orderly stop, 1 when the start failed
 */
export async function up() {
  const signal = stopRequest();
  /** @type {Undo[]} steps to run at the end, newest first */
  const undo = [];
  try {
    undo.push(takeHome());
    const state = await startAll(signal, undo);
    writeState(state);
    undo.push(() => writeState({ ...state, supervisor: null }));
    say(announcement(state));
    if (!signal.aborted)
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    return 0;
  } catch (error) {
    // Ctrl-C also ends the bundler's helper process, whose exit may be noticed before the signal.
    await delay(SIGNAL_DELIVERY_MS);
    if (signal.aborted) return 0;
    complain(error);
    return 1;
  } finally {
    if (signal.aborted) say('\nStopping …');
    for (const step of undo.reverse()) await Promise.resolve().then(step).catch(complain);
    if (signal.aborted) say('Stopped.');
  }
}

/**
 * @param {AbortSignal} signal
 * @param {Undo[]} undo
 */
async function startAll(signal, undo) {
  await installPackages({ signal });
  const { DATABASE_URL, REDIS_URL } = process.env;
  const postgres = DATABASE_URL ? undefined : 'DATABASE_URL';
  const redis = REDIS_URL ? undefined : 'REDIS_URL';
  requireParts({ workspaceRoot, redisCache: places.redisBinaries, postgres, redis });
  await stopOrphans(say);
  await clearRedis(places.redis);
  await clearPostgres(places.postgres);
  const node = nodeBinary();
  const port = await assignPorts(wantedPorts(apps, ownStores()), process.env.PORT_OFFSET);

  const [stores] = await together(signal, [(stop) => startStores(port, stop, undo), bundleAll]);
  const isOurs = stores.embedded.includes('postgres') && !process.env.CT_DATABASE_URL;
  const urlOf = await migrate(node, stores, { create: isOurs, signal, say });
  await makeGatewayKeys(node, signal);

  const deployment = {
    home,
    ...stores,
    urlOf,
    sealingKeysFile: sealingKeysFile(),
    caAccountKeysFile: caAccountKeysFile(),
    dnsUpdateKey: dnsUpdateKey(),
    logLevel: process.env.LOG_LEVEL ?? 'info',
    port,
  };
  const publicationUrl = caPublicationUrl(deployment);
  await createCa(node, { databaseUrl: stores.databaseUrl, publicationUrl, signal });
  const service = (/** @type {import('./apps.mjs').App} */ app) => appService(app, deployment, node);
  await startTogether(apps.filter(({ peer }) => peer).map(service), signal, undo);
  const services = apps.filter(({ peer }) => !peer).map(service);
  const supervised = await startTogether(services, signal, undo);
  undo.push(await letServe(services, supervised));
  say(`Running: ${apps.map(({ name }) => name).join(', ')}.`);

  const { databaseUrl, embedded } = stores;
  const ordersApi = `http://${LOOPBACK}:${port('orders-v3', 'http')}`;
  const account = await sandboxAccount({ known: readState(), ordersApi, node, databaseUrl, signal });
  if (account.isNew) say('Created a sandbox account.');
  return describe({ deployment, embedded, account });
}

/** The stores for which no external server is set. */
function ownStores() {
  /** @type {import('./ports.mjs').Store[]} */
  const stores = [];
  if (!process.env.DATABASE_URL) stores.push('postgres');
  if (!process.env.REDIS_URL) stores.push('redis');
  return stores;
}

/**
 * @param {import('./ports.mjs').PortOf} port
 * @param {AbortSignal} signal
 * @param {Undo[]} undo
 */
async function startStores(port, signal, undo) {
  let databaseUrl = process.env.DATABASE_URL;
  // On an external server both schemas may be in one database: their names are distinct.
  let ctDatabaseUrl = process.env.CT_DATABASE_URL ?? databaseUrl;
  let redisUrl = process.env.REDIS_URL;
  const embedded = [];
  if (!databaseUrl) {
    const postgres = postgresService(port('postgres', 'tcp'));
    await startTogether([postgres], signal, undo);
    databaseUrl = postgres.url();
    ctDatabaseUrl ??= postgres.url(CT_DATABASE);
    embedded.push(postgres.name);
  }
  if (!redisUrl) {
    const redis = await redisService(port('redis', 'tcp'), { report: say, signal });
    await startTogether([redis], signal, undo);
    redisUrl = redis.url();
    embedded.push(redis.name);
  }
  say(`PostgreSQL at ${withoutPassword(databaseUrl)}, Redis at ${withoutPassword(redisUrl)}.`);
  return { databaseUrl, ctDatabaseUrl: ctDatabaseUrl ?? databaseUrl, redisUrl, embedded };
}

/**
 * @param {readonly ReturnType<typeof appService>[]} services
 * @param {readonly import('./keep-running.mjs').Supervised[]} supervised
 * @returns {Promise<Undo>}
 */
async function letServe(services, supervised) {
  /** @type {Map<string, import('./take-over.mjs').Offer>} */
  const offers = new Map();
  for (const [index, one] of supervised.entries()) {
    const service = services[index];
    if (service) offers.set(service.name, { ...service, supervised: one });
  }
  try {
    return await offerTakeOver({ socket: places.control, offers, report: say });
  } catch (error) {
    // The file system has no sockets, or the path is too long: everything else works.
    say(`nx serve cannot take over apps: ${error instanceof Error ? error.message : error}`);
    return () => undefined;
  }
}

/**
 * Starts services in parallel; at the end they are also stopped in parallel.
 * @param {readonly Service[]} services
 * @param {AbortSignal} signal
 * @param {Undo[]} undo
 * @returns {Promise<import('./keep-running.mjs').Supervised[]>}
 */
async function startTogether(services, signal, undo) {
  /** @type {Undo[]} */
  const stops = [];
  undo.push(async () => {
    await Promise.all(stops.map((stop) => stop()));
  });
  const tasks = services.map((service) => async (/** @type {AbortSignal} */ stop) => {
    const supervised = await keepRunning(service, { report: say, signal: stop });
    stops.push(supervised.stop);
    return supervised;
  });
  return await together(signal, tasks);
}

/**
 * Like Promise.all, but the first failure aborts the others, and it rejects after all of them have ended.
 * @template {readonly unknown[]} Results
 * @param {AbortSignal} signal
 * @param {{ [K in keyof Results]: (signal: AbortSignal) => Promise<Results[K]> }} tasks
 * @returns {Promise<Results>}
 */
async function together(signal, tasks) {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const outcomes = tasks.map((task) => task(either));
  for (const outcome of outcomes) outcome.catch((error) => failed.abort(error));
  await Promise.allSettled(outcomes);
  either.throwIfAborted();
  return /** @type {Promise<any>} */ (Promise.all(outcomes));
}

/** @param {string} url */
function withoutPassword(url) {
  // The URL of a Cluster names several hosts, which URL does not parse.
  return url.replace(/^[^:]+:\/\/(.*@)?/, '').replace(/\?.*$/, '');
}
