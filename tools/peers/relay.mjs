// @ts-check
// BIND listens only on addresses of interfaces, and of 127.0.0.0/8 that is only 127.0.0.1. A relay forwards another
// address to it.
import { createSocket } from 'node:dgram';
import { connect, createServer } from 'node:net';

/** Time during which responses to a datagram are forwarded, milliseconds. */
const UDP_KEPT_MS = 10_000;

/**
 * @typedef {object} Place
 * @property {string} address
 * @property {number} port
 */

/**
 * @param {Place} from where askers come
 * @param {Place} to where their messages go, UDP and TCP
 * @returns {Promise<{ stop: () => Promise<void> }>}
 */
export async function relay(from, to) {
  const stops = [await relayTcp(from, to)];
  try {
    stops.push(await relayUdp(from, to));
  } catch (error) {
    await stops[0]?.();
    throw error;
  }
  return { stop: async () => void (await Promise.all(stops.map((stop) => stop()))) };
}

/** @param {Place} from @param {Place} to @returns {Promise<() => Promise<void>>} */
async function relayTcp(from, to) {
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const target = connect({ host: to.address, port: to.port, allowHalfOpen: true });
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ]) {
      sockets.add(/** @type {import('node:net').Socket} */ (socket));
      socket?.on('error', () => other?.destroy());
      socket?.on('close', () => sockets.delete(/** @type {import('node:net').Socket} */ (socket)));
      socket?.pipe(/** @type {import('node:net').Socket} */ (other));
    }
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: from.address, port: from.port }, () => resolve(undefined));
  });
  return async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
}

/** @param {Place} from @param {Place} to @returns {Promise<() => Promise<void>>} */
async function relayUdp(from, to) {
  const front = createSocket('udp4');
  /** @type {Set<() => void>} */
  const open = new Set();
  front.on('message', (message, client) => {
    const back = createSocket('udp4');
    const close = () => {
      if (!open.delete(close)) return;
      clearTimeout(timer);
      back.close();
    };
    const timer = setTimeout(close, UDP_KEPT_MS);
    open.add(close);
    back.on('error', close);
    back.on('message', (response) => front.send(response, client.port, client.address, close));
    back.connect(to.port, to.address, () => back.send(message));
  });
  await new Promise((resolve, reject) => {
    front.once('error', reject);
    front.bind({ port: from.port, address: from.address }, () => resolve(undefined));
  });
  return async () => {
    for (const close of [...open]) close();
    await new Promise((resolve) => front.close(() => resolve(undefined)));
  };
}
