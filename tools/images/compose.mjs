// @ts-check
// docker/compose.yaml as Compose reads it, for checks that run without Docker.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../docker');

/**
 * @typedef {object} Service
 * @property {string} image
 * @property {string[]} [command]
 * @property {string} [user]
 * @property {string[]} [cap_add]
 * @property {boolean} [read_only]
 * @property {string} [hostname]
 * @property {Record<string, string>} [environment]
 * @property {string[]} [volumes]
 * @property {string[]} [networks]
 * @property {{ test: string[] }} [healthcheck]
 */

/**
 * @param {Readonly<Record<string, string>>} [variables]
 * @returns {{ services: Record<string, Service> }}
 */
export function readCompose(variables = {}) {
  const { parse } = createRequire(import.meta.url)('yaml');
  const text = readFileSync(path.join(folder, 'compose.yaml'), 'utf8');
  const interpolated = text.replaceAll(
    /\$\{([A-Z_]+):-([^}]*)\}/g,
    (_, /** @type {string} */ name, /** @type {string} */ otherwise) => variables[name] || otherwise,
  );
  return parse(interpolated, { merge: true });
}
