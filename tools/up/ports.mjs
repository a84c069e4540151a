// @ts-check
// The ports of `npm start`: always the same ones, moved all together by PORT_OFFSET.
import { isFree, LOOPBACK } from '../embedded/ports.mjs';

/** Above the apps' ports, so that more apps can come. */
const STORES = { postgres: { port: 4390 }, redis: { port: 4391 } };
const HIGHEST_PORT = 65_535;
/** Keeps the last two digits of every port. */
const STEP = 100;

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
 * Looks at every port before the first process starts, and names all that are taken in one message.
 * @param {readonly Wanted[]} wanted
 * @param {string | undefined} setting PORT_OFFSET
 * @returns {Promise<PortOf>}
 * @throws {Error} when a port is taken or the setting is not valid
 */
export async function assignPorts(wanted, setting) {
  const offset = offsetOf(wanted, setting);
  const taken = await takenPorts(wanted, offset);
  if (taken.length > 0) throw new Error(await whatIsTaken(wanted, taken, offset));
  return (process, name) => {
    const found = wanted.find((one) => one.process === process && one.name === name);
    if (!found) throw new Error(`${process} has no port "${name}".`);
    return found.port + offset;
  };
}

/**
 * @param {readonly Wanted[]} wanted
 * @param {number} [from]
 * @returns {Promise<number>} the first offset at which every port is free at this moment
 */
export async function freeOffset(wanted, from = STEP) {
  const highest = highestOffset(wanted);
  for (let offset = from; offset <= highest; offset += STEP)
    if ((await takenPorts(wanted, offset)).length === 0) return offset;
  throw new Error(`At no PORT_OFFSET from ${from} to ${highest} are all ports of npm start free.`);
}

/** @param {readonly Wanted[]} wanted */
function highestOffset(wanted) {
  return HIGHEST_PORT - Math.max(...wanted.map(({ port }) => port));
}

/**
 * @param {readonly Wanted[]} wanted
 * @param {string} [setting]
 */
function offsetOf(wanted, setting = '0') {
  const highest = highestOffset(wanted);
  const offset = /^\d{1,5}$/.test(setting) ? Number(setting) : Infinity;
  if (offset <= highest) return offset;
  throw new Error(`PORT_OFFSET is "${setting}"; it must be a whole number from 0 to ${highest}.`);
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
async function whatIsTaken(wanted, taken, offset) {
  return [
    `Other programs use ports of ${LOOPBACK} that npm start needs:`,
    ...taken.map(({ process, name, port }) => `  ${port + offset}  ${process} (${name})`),
    `PORT_OFFSET moves every port of npm start. For example: PORT_OFFSET=${await freeOffset(wanted)} npm start`,
  ].join('\n');
}
