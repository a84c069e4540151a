// @ts-check
// Lets `npx nx serve <app>` replace an app of a running `npm start`, over a Unix socket that only the owner may open. The
// copy of `npm start` is stopped while the connection is open.
import { chmodSync, rmSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { isOurs, readPid, STOP_GRACE_MS, stopProcess } from '../embedded/process.mjs';

/** Longer than a process may take to stop; after that, it is killed. */
const RELEASE_WITHIN_MS = STOP_GRACE_MS + 2_000;

/**
 * @typedef {object} Offer an app that may be taken over
 * @property {Readonly<NodeJS.ProcessEnv>} environment complete, as for the copy of `npm start`
 * @property {string} cwd
 * @property {string} pidFile of the running process, whether npm start or nx serve started it
 * @property {string} program absolute path of the bundle, which identifies the process
 * @property {import('./keep-running.mjs').Supervised} supervised
 *
 * @typedef {{ environment: NodeJS.ProcessEnv, cwd: string, pidFile: string }} Granted
 * @typedef {Granted | { error: string }} Reply one line of JSON; the request is `{"app":"…"}`
 */

/** Node.js and the kernel accept about a hundred bytes; the path of the checkout may be longer. @param {string} socket */
export function shortPath(socket) {
  const relative = path.relative(process.cwd(), socket);
  return relative.length < socket.length ? relative : socket;
}

/**
 * @param {object} options
 * @param {string} options.socket in a folder that only the owner may enter
 * @param {ReadonlyMap<string, Offer>} options.offers by the name of the app
 * @param {(line: string) => void} options.report
 * @returns {Promise<() => Promise<void>>} ends every take-over without restarting the apps
 */
export async function offerTakeOver({ socket, offers, report }) {
  /** @type {Map<string, Promise<void>>} app → settled when its take-over has ended */
  const taken = new Map();
  /** @type {Set<net.Socket>} */
  const connections = new Set();
  let isClosing = false;

  /**
   * @param {net.Socket} connection
   * @param {string} app
   * @param {Offer} offer
   */
  const handOver = async (connection, app, { environment, cwd, pidFile, program, supervised }) => {
    const closed = new Promise((resolve) => connection.once('close', resolve));
    report(`nx serve takes over ${app}.`);
    await supervised.stop();
    reply(connection, { environment, cwd, pidFile });
    if (!connection.destroyed) await closed;
    // A killed nx serve leaves its process, which uses the ports of ours.
    const left = readPid(pidFile);
    if (isOurs(left, program)) await stopProcess(left);
    if (isClosing) return;
    report(`nx serve has released ${app}.`);
    supervised.resume();
  };

  /**
   * @param {net.Socket} connection
   * @param {string} line
   */
  const request = (connection, line) => {
    const app = requestedApp(line);
    const offer = offers.get(app);
    if (!offer)
      return refuse(
        connection,
        `npm start has no app "${app}". Choose from: ${[...offers.keys()].join(', ')}.`,
      );
    if (isClosing) return refuse(connection, 'npm start is stopping.');
    if (taken.has(app)) return refuse(connection, `Another nx serve runs ${app}: stop that one first.`);
    const over = handOver(connection, app, offer)
      .catch((error) => report(`${app}: ${error instanceof Error ? error.message : error}`))
      .finally(() => taken.delete(app));
    taken.set(app, over);
  };

  const server = net.createServer({ allowHalfOpen: true }, (connection) => {
    connections.add(connection);
    connection.once('close', () => connections.delete(connection));
    connection.on('error', () => undefined);
    // The client has exited or stopped its app.
    connection.once('end', () => connection.end());
    createInterface({ input: connection }).once('line', (line) => request(connection, line));
  });
  const place = shortPath(socket);
  rmSync(place, { force: true });
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(place, () => resolve(undefined));
  });
  chmodSync(place, 0o600);

  return async () => {
    isClosing = true;
    server.close();
    // Each nx serve stops its process when it reads the end, and then closes the connection.
    for (const connection of connections) connection.end();
    const giveUp = setTimeout(() => {
      for (const connection of connections) connection.destroy();
    }, RELEASE_WITHIN_MS);
    await Promise.all(taken.values());
    clearTimeout(giveUp);
    for (const connection of connections) connection.destroy();
  };
}

/** @param {string} line */
function requestedApp(line) {
  try {
    return String(JSON.parse(line).app);
  } catch {
    return line;
  }
}

/**
 * @param {net.Socket} connection
 * @param {Reply} message
 */
function reply(connection, message) {
  if (connection.writable) connection.write(`${JSON.stringify(message)}\n`);
}

/**
 * @param {net.Socket} connection
 * @param {string} error
 */
function refuse(connection, error) {
  reply(connection, { error });
  connection.end();
}
