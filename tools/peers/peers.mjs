// @ts-check
// Real name servers on loopback, for specs that compare ours with them. They listen on no other address.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../embedded/ports.mjs';
import { servesZone, takesConnections } from './readiness.mjs';
import { bind, BIND_ADDRESS } from './bind.mjs';
import { knot } from './knot.mjs';
import { freshKeys } from './options.mjs';
import { makeZones, pdns } from './pdns.mjs';
import { missingFor } from './programs.mjs';
import { relay } from './relay.mjs';
import { started } from './servers.mjs';
import { unbound } from './unbound.mjs';
/** @import { PeerOptions, RunningPeers, RunningServer, ServerOptions } from './options.mjs' */
/** @import { Command, Setting, Started } from './servers.mjs' */

/** Starting takes a second or two on a loaded machine. */
const START_WITHIN_MS = 20_000;
/** A port that is free on one address may be in use on another. */
const PORT_ATTEMPTS = 5;
const UNBOUND_ADDRESS = '127.0.0.1';

/**
 * Starts all of them and waits until each responds for each of its zones.
 * @param {PeerOptions} options
 * @param {AbortSignal} [signal] while they start
 * @returns {Promise<RunningPeers & { stop(): Promise<void> }>}
 * @throws Error when a program is missing, or a server does not start (with its log); the signal's reason
 */
export async function startPeers(options, signal = new AbortController().signal) {
  check(options);
  for (let attempt = 1; ; attempt++) {
    try {
      return await startAll(options, await freePort(), signal);
    } catch (error) {
      if (
        attempt === PORT_ATTEMPTS ||
        !/EADDRINUSE|address (already )?in use|could not listen|Unable to bind/i.test(String(error))
      )
        throw error;
    }
  }
}

/** @param {PeerOptions} options */
function check({ servers, unbound: withUnbound }) {
  const outside = servers.find(({ address }) => !isIPv4(address) || !address.startsWith('127.'));
  if (outside !== undefined) throw new Error(`${outside.address} is not a loopback address.`);
  const copied = servers.find(({ kind, zones }) => kind === 'pdns' && zones.some(({ primary }) => primary));
  if (copied !== undefined) throw new Error('Only bind and knot support copies of a zone.');
  const missing = missingFor([...servers.map(({ kind }) => kind), ...(withUnbound ? ['unbound'] : [])]);
  if (missing.length > 0)
    throw new Error(`Not installed: ${missing.join(', ')} (tools/test/peers.sh installs them).`);
}

/**
 * @param {PeerOptions} options
 * @param {number} port
 * @param {AbortSignal} given
 */
async function startAll({ servers, unbound: withUnbound = false }, port, given) {
  const signal = AbortSignal.any([given, AbortSignal.timeout(START_WITHIN_MS)]);
  const folder = mkdtempSync(path.join(tmpdir(), 'certwright-peers-'));
  const keys = freshKeys(randomBytes);
  /** @type {Pick<Started, 'stop'>[]} */
  const running = [];
  const stop = async () => {
    await Promise.all(running.map((server) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    /** @type {RunningServer[]} */
    const described = [];
    for (const server of servers) {
      const own = path.join(folder, `${server.kind}-${server.address}`);
      described.push(await startOne({ server, servers, port, folder: own, keys }, running, signal));
    }
    const resolver = withUnbound ? await startUnbound({ servers, port, folder }, running, signal) : null;
    return { port, folder, keys, servers: described, unbound: resolver, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * @param {Setting} setting
 * @param {Pick<Started, 'stop'>[]} running
 * @param {AbortSignal} signal
 * @returns {Promise<RunningServer>}
 */
async function startOne(setting, running, signal) {
  const { server, servers, port, folder } = setting;
  const { kind, address, zones } = server;
  const api = { apiPort: await freePort(), apiKey: randomBytes(16).toString('hex') };
  const command = await commandOf({ ...setting, ...api }, running);
  const process = await started(command, folder);
  running.push(process);
  const described = { kind, address, pid: process.pid, log: process.log };
  const up = async () => {
    if (kind === 'pdns') {
      await takesConnections({ address, port: api.apiPort }, signal);
      await makeZones({ server, servers, api: urlOf(address, api.apiPort), apiKey: api.apiKey }, signal);
    }
    for (const { name } of zones) await servesZone({ address, port, zone: name }, signal);
    await takesConnections({ address, port }, signal);
  };
  await Promise.race([up(), process.failed]);
  return kind === 'pdns' ? { ...described, api: urlOf(address, api.apiPort), apiKey: api.apiKey } : described;
}

/**
 * @param {Setting & { apiPort: number, apiKey: string }} setting
 * @param {Pick<Started, 'stop'>[]} running
 * @returns {Promise<Command>}
 */
async function commandOf(setting, running) {
  const { server, port } = setting;
  if (server.kind === 'knot') return knot(setting);
  if (server.kind === 'pdns') return pdns(setting);
  if (server.address === BIND_ADDRESS) return bind({ ...setting, ownPort: port });
  const ownPort = await freePort();
  running.push(await relay({ address: server.address, port }, { address: BIND_ADDRESS, port: ownPort }));
  return bind({ ...setting, ownPort });
}

/**
 * @param {{ servers: readonly ServerOptions[], port: number, folder: string }} setting
 * @param {Pick<Started, 'stop'>[]} running
 * @param {AbortSignal} signal
 */
async function startUnbound({ servers, port, folder }, running, signal) {
  const own = path.join(folder, 'unbound');
  const process = await started(unbound({ address: UNBOUND_ADDRESS, servers, port, folder: own }), own);
  running.push(process);
  const up = async () => {
    for (const zone of servers.flatMap((server) => server.zones.map(({ name }) => name))) {
      await servesZone({ address: UNBOUND_ADDRESS, port, zone }, signal);
    }
  };
  await Promise.race([up(), process.failed]);
  return { address: UNBOUND_ADDRESS, port, pid: process.pid, log: process.log };
}

/** @param {string} address @param {number} port */
const urlOf = (address, port) => `http://${address}:${port}`;
