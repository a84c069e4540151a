// @ts-check
// The ports of `npm start`: fixed, plus PORT_OFFSET.
import { isFree, LOOPBACK } from '../embedded/ports.mjs';

/** Above the ports of the apps, to leave space for more apps. */
const STORES = { postgres: { port: 4390 }, redis: { port: 4391 } };
const MAX_PORT = 65_535;
/** Keeps the last two digits of every port. */
const STEP = 100;
/**
 * Ports that browsers and `fetch` refuse to connect to (https://fetch.spec.whatwg.org/#port-blocking), those that an
 * offset can lead to.
 */
const BLOCKED_PORTS = new Set([5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10_080]);

/**
 * @typedef {object} Wanted
 * @property {string} process
 * @property {string} name of the port, as in apps.mjs; a store's is `tcp`
 * @property {number} port
 * @property {boolean} [udp] for UDP as well as for TCP
 *
 * @typedef {keyof typeof STORES} Store
 *
 * @typedef {(process: string, name: string) => number} PortOf
 */

/**
 * @param {readonly import('./apps.mjs').App[]} apps
 * @param {readonly Store[]} stores those that run here
 * @returns {Wanted[]} without an offset
 */
export function wantedPorts(apps, stores) {
  const ofApps = apps.flatMap(({ name: process, ports }) =>
    Object.entries(ports).map(([name, { preferred, udp }]) => ({ process, name, port: preferred, udp })),
  );
  return [...ofApps, ...stores.map((process) => ({ process, name: 'tcp', ...STORES[process] }))];
}

/**
 * Checks every port before the first process starts, and lists all ports in use in one message.
 * @param {readonly Wanted[]} wanted
 * @param {string | undefined} setting PORT_OFFSET
 * @returns {Promise<PortOf>}
 * @throws {Error} when a port is in use or the setting is invalid
 */
export async function assignPorts(wanted, setting) {
  const offset = offsetOf(wanted, setting);
  const blocked = blockedPorts(wanted, offset);
  if (blocked.length > 0) throw new Error(await blockedMessage(wanted, blocked, offset));
  const taken = await takenPorts(wanted, offset);
  if (taken.length > 0) throw new Error(await takenMessage(wanted, taken, offset));
  return (process, name) => {
    const found = wanted.find((one) => one.process === process && one.name === name);
    if (!found) throw new Error(`${process} has no port "${name}".`);
    return found.port + offset;
  };
}

/**
 * @param {readonly Wanted[]} wanted
 * @param {number} [from]
 * @returns {Promise<number>} the first offset at which every port is free at this moment, and none is blocked
 */
export async function freeOffset(wanted, from = STEP) {
  const max = maxOffset(wanted);
  for (let offset = from; offset <= max; offset += STEP)
    if (blockedPorts(wanted, offset).length === 0 && (await takenPorts(wanted, offset)).length === 0)
      return offset;
  throw new Error(
    `There is no PORT_OFFSET from ${from} to ${max} with which all ports of npm start are free.`,
  );
}

/** @param {readonly Wanted[]} wanted */
function maxOffset(wanted) {
  return MAX_PORT - Math.max(...wanted.map(({ port }) => port));
}

/**
 * @param {readonly Wanted[]} wanted
 * @param {string} [setting]
 */
function offsetOf(wanted, setting = '0') {
  const max = maxOffset(wanted);
  const offset = /^\d{1,5}$/.test(setting) ? Number(setting) : Infinity;
  if (offset <= max) return offset;
  throw new Error(`PORT_OFFSET is "${setting}"; set it to a whole number from 0 to ${max}.`);
}

/**
 * @param {readonly Wanted[]} wanted
 * @param {number} offset
 */
function blockedPorts(wanted, offset) {
  return wanted.filter(({ port }) => BLOCKED_PORTS.has(port + offset));
}

/**
 * @param {readonly Wanted[]} wanted
 * @param {readonly Wanted[]} blocked
 * @param {number} offset
 */
async function blockedMessage(wanted, blocked, offset) {
  const ports = blocked.map(({ process, name, port }) => `${port + offset} (${process} ${name})`);
  return (
    `PORT_OFFSET is "${offset}"; browsers and fetch block these of its ports: ${ports.join(', ')}. ` +
    `Use another one: PORT_OFFSET=${await freeOffset(wanted)} npm start`
  );
}

/**
 * @param {readonly Wanted[]} wanted
 * @param {number} offset
 */
async function takenPorts(wanted, offset) {
  const free = await Promise.all(wanted.map(async ({ port, udp }) => await isFree(port + offset, { udp })));
  return wanted.filter((_, index) => !free[index]);
}

/**
 * @param {readonly Wanted[]} wanted
 * @param {readonly Wanted[]} taken
 * @param {number} offset
 */
async function takenMessage(wanted, taken, offset) {
  return [
    `npm start needs these ports on ${LOOPBACK}, but other programs use them:`,
    ...taken.map(({ process, name, port }) => `  ${port + offset}  ${process} (${name})`),
    `Stop these programs, or use other ports: PORT_OFFSET=${await freeOffset(wanted)} npm start`,
  ].join('\n');
}
