// @ts-check
// Finds free ports on loopback, the only address that these tools listen on.
import { randomInt } from 'node:crypto';
import dgram from 'node:dgram';
import net from 'node:net';

export const LOOPBACK = '127.0.0.1';

/** Below the ephemeral ports, so that no outgoing connection takes a port before its server listens. */
const RANGE = { min: 10_240, below: 32_768 };

/** By this process: their servers may not listen yet. @type {Set<number>} */
const given = new Set();

/**
 * A port that no server uses at this moment, and that was not returned before. Another server may take it first: on "address in use", request another one.
 * @returns {Promise<number>}
 */
export async function freePort() {
  for (;;) {
    const port = randomInt(RANGE.min, RANGE.below);
    if (given.has(port) || !(await tcpIsFree(port))) continue;
    given.add(port);
    return port;
  }
}

/**
 * @param {number} port
 * @param {{ udp?: boolean }} [needs] udp: the port is wanted for UDP as well as for TCP
 * @returns {Promise<boolean>}
 */
export async function isFree(port, { udp = false } = {}) {
  return (await tcpIsFree(port)) && (!udp || (await udpIsFree(port)));
}

/**
 * The preferred port, or the next one above it that is free and not yet assigned.
 * @param {number} preferred
 * @param {{ udp?: boolean, taken?: Set<number> }} [needs] taken: assigned ports; the returned one is added
 * @returns {Promise<number>}
 */
export async function preferredPort(preferred, { udp = false, taken = new Set() } = {}) {
  for (let port = preferred; port < preferred + 1000 && port <= 65_535; port += 1) {
    if (taken.has(port) || !(await isFree(port, { udp }))) continue;
    taken.add(port);
    return port;
  }
  throw new Error(`There is no free port from ${preferred} on at ${LOOPBACK}.`);
}

/** @param {number} port @returns {Promise<boolean>} */
function tcpIsFree(port) {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: LOOPBACK, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** @param {number} port @returns {Promise<boolean>} */
function udpIsFree(port) {
  return new Promise((resolve) => {
    const socket = dgram.createSocket('udp4');
    socket.once('error', () => {
      socket.close();
      resolve(false);
    });
    socket.bind({ address: LOOPBACK, port, exclusive: true }, () => socket.close(() => resolve(true)));
  });
}
