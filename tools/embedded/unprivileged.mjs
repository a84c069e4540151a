// @ts-check
// PostgreSQL refuses to run as root. Chooses the user that it runs as instead.
import { spawnSync } from 'node:child_process';
import { lchownSync, lstatSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';

/** Debian's `nobody` and `nogroup`. */ // language: name of a user
const UNPRIVILEGED_ID = 65_534;

/**
 * @typedef {object} Identity
 * @property {readonly string[]} prefix arguments before the command
 * @property {number} [uid]
 * @property {number} [gid]
 */

/**
 * The owner of the data folder runs its server. If that is root, a user namespace maps root to an unprivileged user: no
 * user is created, the files still belong to root, and folders that only root may enter work too. If namespaces are not
 * allowed, the folder is given to the unprivileged user.
 * @param {string} folder exists
 * @returns {Identity}
 */
export function identityFor(folder) {
  if (process.getuid?.() !== 0) return { prefix: [] };
  const { uid, gid } = statSync(folder);
  if (uid !== 0) return { prefix: [], uid, gid };
  const namespace = [
    'unshare',
    '-U',
    `--map-user=${UNPRIVILEGED_ID}`,
    `--map-group=${UNPRIVILEGED_ID}`,
    '--',
  ];
  if (spawnSync('unshare', [...namespace.slice(1), 'true']).status === 0) return { prefix: namespace };
  giveTo(folder, UNPRIVILEGED_ID);
  return { prefix: [], uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID };
}

/**
 * @param {string} entry
 * @param {number} id user and group
 */
function giveTo(entry, id) {
  lchownSync(entry, id, id);
  if (!lstatSync(entry).isDirectory()) return;
  for (const name of readdirSync(entry)) giveTo(path.join(entry, name), id);
}
