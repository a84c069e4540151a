// @ts-check
// Finds the name servers on this machine. Debian installs them in /usr/sbin, which is only on root's PATH.
import { accessSync, constants } from 'node:fs';
import path from 'node:path';

/** Program of each server, and what else it needs. @type {Readonly<Record<string, readonly string[]>>} */
const needed = {
  bind: ['named'],
  knot: ['knotd'],
  pdns: ['pdns_server', 'sqlite3'],
  unbound: ['unbound'],
};

const pdnsSchema = '/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql';

/**
 * The full path of a program; null when it is not installed.
 * @param {string} name
 */
export function programPath(name) {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/sbin', '/usr/local/sbin'];
  return (
    folders.map((folder) => path.join(folder, name)).find((file) => isThere(file, constants.X_OK)) ?? null
  );
}

/** @param {string} name @returns {string} */
export function requiredProgram(name) {
  const file = programPath(name);
  if (file === null) throw new Error(`${name} is not installed (tools/test/peers.sh installs it).`);
  return file;
}

/**
 * Missing programs for these kinds of server; empty when all can be started.
 * @param {readonly string[]} kinds
 */
export function missingFor(kinds) {
  const programs = kinds.flatMap((kind) => needed[kind] ?? []).filter((name) => programPath(name) === null);
  return kinds.includes('pdns') && !isThere(pdnsSchema, constants.R_OK)
    ? [...programs, 'pdns-backend-sqlite3']
    : programs;
}

export const schemaOfPdns = pdnsSchema;

/** @param {string} file @param {number} mode */
function isThere(file, mode) {
  try {
    accessSync(file, mode);
    return true;
  } catch {
    return false;
  }
}
