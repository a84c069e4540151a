// @ts-check
// Starts one server and stops it.
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { stopProcess } from '../embedded/process.mjs';
/** @import { Key, ServerOptions } from './options.mjs' */

/**
 * @typedef {object} Setting what a server is configured by
 * @property {ServerOptions} server
 * @property {readonly ServerOptions[]} servers all of them
 * @property {number} port
 * @property {string} folder its own
 * @property {Readonly<Record<'full' | 'sha384' | 'sha512' | 'challenges', Key>>} keys
 */

/**
 * @typedef {object} Command
 * @property {string} program
 * @property {readonly string[]} args
 * @property {string} log
 */

/**
 * @typedef {object} Started
 * @property {number} pid
 * @property {string} log
 * @property {Promise<never>} failed rejects when it ends before it is stopped
 * @property {() => Promise<void>} stop
 */

/**
 * Stays in the process group of this process, so that killing the group ends it too.
 * @param {Command} command
 * @param {string} folder
 * @returns {Promise<Started>}
 */
export async function started({ program, args, log }, folder) {
  const output = path.join(folder, 'output.log');
  const file = openSync(output, 'a');
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', file, file] });
  closeSync(file);
  let stopping = false;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const failed = ended.then((code) => {
    if (stopping) return new Promise(() => undefined);
    throw new Error(`${path.basename(program)} exited (${code}).\n${texts(output, log)}`);
  });
  failed.catch(() => undefined);
  await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));
  const pid = Number(child.pid);
  const stop = async () => {
    stopping = true;
    if (child.exitCode === null && child.signalCode === null) await stopProcess(pid, { graceMs: 2_000 });
  };
  return { pid, log, failed: /** @type {Promise<never>} */ (failed), stop };
}

/** @param {readonly string[]} files */
const texts = (...files) =>
  [...new Set(files)].map((file) => (existsSync(file) ? readFileSync(file, 'utf8') : '')).join('\n');
