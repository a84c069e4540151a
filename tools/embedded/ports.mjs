// @ts-check
// Which loopback ports are free. Nothing here, or anywhere in these tools, listens on another address.
import { randomInt } from 'node:crypto';
import dgram from 'node:dgram';
import net from 'node:net';

export const LOOPBACK = '127.0.0.1';

/** Below the ports that systems give to outgoing connections, so that none of those takes one before its server listens. */
const RANGE = { min: 10_240, below: 32_768 };

/**
 * A port that nobody listens on at this moment. Another server may take it before you do: whoever starts a server on it looks
 * for "address in use" and asks again.
 * @returns {Promise<number>}
 */
export async function freePort() {
  for (;;) {
    const port = randomInt(RANGE.min, RANGE.below);
    if (await tcpIsFree(port)) return port;
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
 * The preferred port, or the next one above it that is free and not promised to anybody yet.
 * @param {number} preferred
 * @param {{ udp?: boolean, taken?: Set<number> }} [needs] taken: ports given out already; the answer is added to it
 * @returns {Promise<number>}
 */
export async function preferredPort(preferred, { udp = false, taken = new Set() } = {}) {
  for (let port = preferred; port < preferred + 1000 && port <= 65_535; port += 1) {
    if (taken.has(port) || !(await isFree(port, { udp }))) continue;
    taken.add(port);
    return port;
  }
  throw new Error(`No free port from ${preferred} upwards on ${LOOPBACK}.`);
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
