// @ts-check
// A TCP proxy between the copies of the apps and a server: refuses, resets or silently delays what passes.
import net from 'node:net';
import { LOOPBACK } from '../embedded/ports.mjs';

/**
 * @typedef {object} Links
 * @property {number} port
 * @property {(port: number) => void} connectTo new connections reach the server at this port
 * @property {() => void} cut resets every connection, and new ones
 * @property {() => void} swallow connections stay open, but nothing passes any more
 * @property {() => void} heal resets what was swallowed; new connections pass
 * @property {() => void} close
 */

/** @param {number} port of the server @returns {Promise<Links>} */
export async function startLinks(port) {
  let target = port;
  /** @type {Set<net.Socket>} */
  const sockets = new Set();
  /** @type {'open' | 'cut' | 'swallowed'} */
  let state = 'open';
  const server = net.createServer((client) => {
    client.on('error', () => undefined);
    if (state === 'cut') return void client.resetAndDestroy();
    keep(client);
    if (state === 'swallowed') return void client.pause();
    const upstream = net.connect(target, LOOPBACK);
    keep(upstream);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ]) {
      one?.setNoDelay(true);
      one?.on('error', () => undefined);
      one?.on('close', () => other?.destroy());
    }
    client.pipe(upstream).pipe(client);
  });
  const keep = (/** @type {net.Socket} */ socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  };
  const reset = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  await new Promise((resolve) => server.listen(0, LOOPBACK, () => resolve(undefined)));
  return {
    port: /** @type {net.AddressInfo} */ (server.address()).port,
    connectTo: (next) => void (target = next),
    cut: () => {
      state = 'cut';
      reset();
    },
    swallow: () => {
      state = 'swallowed';
      for (const socket of sockets) socket.unpipe().pause();
    },
    heal: () => {
      state = 'open';
      reset();
    },
    close: () => {
      server.close();
      reset();
    },
  };
}
