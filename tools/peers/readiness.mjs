// @ts-check
// Checks whether a name server is up: it responds for its zones over UDP, and accepts connections.
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 50;
/** Timeout for one datagram, milliseconds. */
const PATIENCE_MS = 250;

/**
 * @param {{ address: string, port: number, zone: string }} server
 * @param {AbortSignal} signal
 */
export async function servesZone({ address, port, zone }, signal) {
  while (!(await hasSoa(address, port, zone))) await delay(POLL_MS, undefined, { signal });
}

/** @param {{ address: string, port: number }} server @param {AbortSignal} signal */
export async function takesConnections({ address, port }, signal) {
  while (!(await isOpen(address, port))) await delay(POLL_MS, undefined, { signal });
}

/**
 * @param {string} address
 * @param {number} port
 * @param {string} zone
 * @returns {Promise<boolean>}
 */
function hasSoa(address, port, zone) {
  const labels = zone.split('.').flatMap((label) => [Buffer.of(label.length), Buffer.from(label)]);
  const question = Buffer.concat([...labels, Buffer.of(0, 0, 6, 0, 1)]);
  const message = Buffer.concat([Buffer.of(0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0), question]);
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    const end = (/** @type {boolean} */ isThere) => {
      clearTimeout(timer);
      socket.close();
      resolve(isThere);
    };
    const timer = setTimeout(() => end(false), PATIENCE_MS);
    socket.once('error', () => end(false));
    // NOERROR with one answer means that the zone is loaded.
    socket.once('message', (response) =>
      end(((response[3] ?? 15) & 0xf) === 0 && response.readUInt16BE(6) === 1),
    );
    socket.connect(port, address, () => socket.send(message));
  });
}

/**
 * @param {string} address
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function isOpen(address, port) {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
