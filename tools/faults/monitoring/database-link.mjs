// @ts-check
// A TCP proxy between the processes and a PostgreSQL server: moves connections to another server, and loses the responses to
// commits. The client then cannot know whether the transaction was committed; it was.
import net from 'node:net';
import { LOOPBACK } from '../../embedded/ports.mjs';

/** CommandComplete of a COMMIT (PostgreSQL 18, section 54.7). */
const COMMITTED = Buffer.from('C\0\0\0\x0bCOMMIT\0', 'latin1');
/** ReadyForQuery outside a transaction. */
const IDLE = Buffer.from('Z\0\0\0\x05I', 'latin1');
const WRITTEN = /C\0[^]{3}(?:INSERT 0|UPDATE|DELETE|MERGE) [1-9]\d*\0/;

/** @param {Buffer} response whether a transaction, or a writing statement of its own, was committed */
function isCommitted(response) {
  if (response.includes(COMMITTED)) return true;
  return response.subarray(-IDLE.length).equals(IDLE) && WRITTEN.test(response.toString('latin1'));
}

/**
 * @typedef {object} DatabaseLink
 * @property {number} port
 * @property {() => number} lost commits whose responses were lost
 * @property {(shouldLose: () => boolean) => void} loseCommits the function decides for each commit
 * @property {() => void} cut resets every connection and refuses new ones
 * @property {(port: number) => void} connectTo new connections are accepted again, and reach the server at this port
 * @property {() => void} close
 */

/**
 * @param {number} port of the server
 * @returns {Promise<DatabaseLink>}
 */
export async function databaseLink(port) {
  /** @type {Set<net.Socket>} */
  const sockets = new Set();
  /** @type {number | null} */
  let target = port;
  let shouldLose = () => false;
  let lost = 0;
  const server = net.createServer((client) => {
    client.on('error', () => undefined);
    if (target === null) return void client.resetAndDestroy();
    const upstream = net.connect(target, LOOPBACK);
    for (const socket of [client, upstream]) {
      const peer = socket === client ? upstream : client;
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        peer.destroy();
      });
    }
    client.pipe(upstream);
    upstream.on('data', (response) => {
      if (isCommitted(response) && shouldLose()) {
        lost += 1;
        client.resetAndDestroy();
      } else if (!client.write(response)) {
        upstream.pause();
        client.once('drain', () => upstream.resume());
      }
    });
  });
  await new Promise((resolve) => server.listen(0, LOOPBACK, () => resolve(undefined)));
  const cut = () => {
    target = null;
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: /** @type {net.AddressInfo} */ (server.address()).port,
    lost: () => lost,
    loseCommits: (decide) => void (shouldLose = decide),
    cut,
    connectTo: (next) => void (target = next),
    close: () => {
      cut();
      server.close();
    },
  };
}
