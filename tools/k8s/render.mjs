// @ts-check
// What kubectl makes of an overlay in k8s/, as objects.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';

/**
 * @typedef {object} Manifest
 * @property {string} apiVersion
 * @property {string} kind
 * @property {{ name: string, namespace?: string, labels?: Record<string, string> }} metadata
 */

/** Unpacked by tools/test/peers.sh; the kubectl of Debian 12 has an old kustomize. */
const unpacked = '/opt/kubectl-new/usr/bin/kubectl';

/** @returns {string | null} null if there is none */
export function kubectl() {
  if (existsSync(unpacked)) return unpacked;
  return spawnSync('kubectl', ['version', '--client']).status === 0 ? 'kubectl' : null;
}

/**
 * @param {string} folder with a kustomization.yaml
 * @returns {Manifest[]}
 * @throws {Error} with the message of kubectl
 */
export function render(folder) {
  const program = kubectl();
  if (program === null)
    throw new Error('kubectl is missing. Install it, or run tools/test/peers.sh as root.');
  const run = spawnSync(program, ['kustomize', folder], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  if (run.status !== 0) throw new Error(`kubectl kustomize ${path.basename(folder)}: ${run.stderr.trim()}`);
  return manifestsIn(run.stdout);
}

/**
 * @param {string} yaml
 * @returns {Manifest[]}
 */
export function manifestsIn(yaml) {
  return parseAllDocuments(yaml).map((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    return /** @type {Manifest} */ (document.toJS());
  });
}
