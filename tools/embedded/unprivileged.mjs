// @ts-check
// PostgreSQL refuses to run as root. This decides as whom it runs instead.
import { spawnSync } from 'node:child_process';
import { lchownSync, lstatSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';

/** Debian's `nobody` and `nogroup`. */
const NOBODY = 65_534;

/**
 * @typedef {object} Identity
 * @property {readonly string[]} prefix words in front of the command
 * @property {number} [uid]
 * @property {number} [gid]
 */

/**
 * The owner of the data folder runs its server. When that is root, a user namespace shows root to PostgreSQL as nobody:
 * no user is created, the files stay root's, and folders that only root may enter work too. Where namespaces are
 * not allowed, the folder is given to nobody instead.
 * @param {string} folder exists
 * @returns {Identity}
 */
export function identityFor(folder) {
  if (process.getuid?.() !== 0) return { prefix: [] };
  const { uid, gid } = statSync(folder);
  if (uid !== 0) return { prefix: [], uid, gid };
  const namespace = ['unshare', '-U', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`, '--'];
  if (spawnSync('unshare', [...namespace.slice(1), 'true']).status === 0) return { prefix: namespace };
  giveTo(folder, NOBODY);
  return { prefix: [], uid: NOBODY, gid: NOBODY };
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
