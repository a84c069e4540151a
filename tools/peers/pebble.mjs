// @ts-check
// pebble, the ACME test server, with pebble-challtestsrv as its resolver, on free ports of loopback in a scratch folder.
// As a module: `startPebble(options)`. As a program: `node tools/peers/pebble.mjs '{"eab":true}'` runs until SIGTERM or
// SIGINT and prints one line of JSON when everything is up.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { freePort, LOOPBACK } from '../embedded/ports.mjs';
import {
  challengeArguments,
  environment,
  EXTERNAL_ACCOUNT,
  findChallengeServer,
  findPebble,
  makeCertificate,
  settings,
} from './pebble-settings.mjs';

const READY_WITHIN_MS = 10_000;
const STOP_GRACE_MS = 3_000;
/** Another process may take a free port before it is used. */
const PORT_ATTEMPTS = 3;

/**
 * @typedef {object} PebbleOptions
 * @property {string} [binary] default: the newer pebble when it is there, else the packaged one
 * @property {string} [resolver] `address:port` of pebble's resolver; default: a pebble-challtestsrv of its own
 * @property {boolean} [eab] true: accounts need external account binding
 * @property {number} [nonceReject] percent of good nonces that are refused; default 0
 * @property {number} [authzReuse] percent of valid authorizations that are used again; default 0
 * @property {boolean} [vaNosleep] false: a validation waits a random time first; default true
 * @property {number} [vaSleepS] with `vaNosleep: false`: the longest such wait, seconds
 * @property {Record<string, { description: string, validityPeriod: number }>} [profiles] seconds; default: one of 90 days
 * @property {number} [alternateRoots] chains offered besides the first; default 0
 * @property {number} [chainLength] certificates above the leaf; default 1
 * @property {readonly string[]} [blocked] names that are refused
 * @property {string} [folder] scratch folder, kept; default: a new one, removed at the end
 *
 * @typedef {object} Pebble
 * @property {string} binary
 * @property {string} directoryUrl
 * @property {string} managementUrl
 * @property {string} tlsRoot PEM of the root under which both are served
 * @property {{ keyId: string, key: string } | null} externalAccount key in base64url, HMAC
 * @property {string | null} challengesUrl management of pebble-challtestsrv (`/set-txt`, `/clear-txt`); null with a resolver given
 * @property {string} resolver pebble's resolver
 * @property {number} httpPort where it looks for http-01
 * @property {string} folder
 * @property {() => Promise<void>} stop
 */

/** @param {PebbleOptions} [options] @returns {Promise<Pebble>} */
export async function startPebble(options = {}) {
  const binary = findPebble(options.binary);
  if (binary === undefined) throw new Error('pebble is not installed.');
  const folder = options.folder ?? mkdtempSync(path.join(tmpdir(), 'certwright-pebble-'));
  mkdirSync(folder, { recursive: true });
  const remove = () => options.folder ?? rmSync(folder, { recursive: true, force: true });
  for (let attempt = 1; ; attempt += 1) {
    /** @type {Started[]} */
    const started = [];
    const stopAll = async () => void (await Promise.all(started.map((program) => program.stop())));
    try {
      const running = await startBoth(binary, folder, options, started);
      return { ...running, stop: async () => (await stopAll(), void remove()) };
    } catch (error) {
      await stopAll();
      if (attempt < PORT_ATTEMPTS && /address already in use/.test(String(error))) continue;
      remove();
      throw error;
    }
  }
}

/**
 * @param {string} binary
 * @param {string} folder
 * @param {PebbleOptions} options
 * @param {Started[]} started
 */
async function startBoth(binary, folder, options, started) {
  const [acme = 0, management = 0, http = 0, tls = 0, dns = 0, control = 0] = await Promise.all(
    Array.from({ length: 6 }, () => freePort()),
  );
  const resolver = options.resolver ?? `${LOOPBACK}:${dns}`;
  const tlsRoot = makeCertificate(folder);
  const config = { pebble: settings(folder, options, { acme, management, http, tls }) };
  writeFileSync(path.join(folder, 'pebble.json'), JSON.stringify(config));
  if (options.resolver === undefined) {
    const command = findChallengeServer(binary);
    if (command === undefined) throw new Error('pebble-challtestsrv is not installed.');
    started.push(start(command, challengeArguments(command, { dns, http, control }), folder));
  }
  const args = ['-config', 'pebble.json', '-dnsserver', resolver, '-strict=false'];
  started.push(start(binary, args, folder, environment(options)));
  const ports = options.resolver === undefined ? [acme, management, dns, control] : [acme, management];
  await Promise.all(ports.map((port) => untilOpen(port, started)));
  return {
    binary,
    directoryUrl: `https://localhost:${acme}/dir`,
    managementUrl: `https://localhost:${management}`,
    tlsRoot,
    externalAccount: options.eab ? EXTERNAL_ACCOUNT : null,
    challengesUrl: options.resolver === undefined ? `http://${LOOPBACK}:${control}` : null,
    resolver,
    httpPort: http,
    folder,
  };
}

/**
 * @typedef {object} Started
 * @property {string} name
 * @property {string} logFile
 * @property {() => boolean} hasEnded
 * @property {() => Promise<void>} stop
 */

/**
 * In the process group of this process, so that killing the group ends it too.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {string} folder
 * @param {NodeJS.ProcessEnv} [env] besides our own
 * @returns {Started}
 */
function start(command, args, folder, env = {}) {
  const name = path.basename(command);
  const logFile = path.join(folder, `${name}.log`);
  const log = openSync(logFile, 'w', 0o600);
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', log, log],
  });
  let over = false;
  const ended = new Promise((resolve) => child.once('exit', resolve).once('error', resolve)).then(
    () => (over = true),
  );
  const stop = async () => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
    await ended.finally(() => clearTimeout(timer));
  };
  return { name, logFile, hasEnded: () => over, stop: async () => void (over || (await stop())) };
}

/**
 * @param {number} port
 * @param {readonly Started[]} started
 */
async function untilOpen(port, started) {
  const deadline = Date.now() + READY_WITHIN_MS;
  while (!(await accepts(port))) {
    const dead = started.find((program) => program.hasEnded());
    const late = Date.now() >= deadline;
    if (dead || late) {
      const { name, logFile } = dead ?? started[started.length - 1] ?? { name: 'pebble', logFile: '' };
      throw new Error(
        `${name} ${dead ? 'ended' : 'was not ready in time'}.\n${readFileSync(logFile, 'utf8').slice(-2_000)}`,
      );
    }
    await delay(20);
  }
}

/** @param {number} port @returns {Promise<boolean>} */
function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect(port, LOOPBACK, () => resolve((socket.destroy(), true)));
    socket.once('error', () => resolve(false));
  });
}

async function main() {
  /** @type {Promise<void>} */
  const stopped = new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => resolve());
  });
  const { stop, ...pebble } = await startPebble(JSON.parse(process.argv[2] ?? '{}'));
  console.log(JSON.stringify(pebble));
  const hold = setInterval(() => undefined, 60_000);
  await stopped;
  clearInterval(hold);
  await stop();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await main().catch((error) => {
    console.error(String(error?.message ?? error));
    process.exitCode = 1;
  });
}
