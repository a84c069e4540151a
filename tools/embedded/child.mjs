// @ts-check
// Starts processes detached from the terminal, with a log, a pid file and a time limit to become ready.
import { spawn } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { send, stopProcess } from './process.mjs';

/** A larger log is renamed to `<name>.1` at the next start; one older file is kept. */
const LOG_ROTATE_BYTES = 10 * 1024 * 1024;
const PROBE_EVERY_MS = 50;
/** For one probe; a server that accepts a connection and does not respond is not ready. */
const PROBE_TIMEOUT_MS = 2_000;
const OUTPUT_LIMIT_CHARACTERS = 64 * 1024;

/**
 * @typedef {object} Child
 * @property {number} pid
 * @property {() => boolean} hasEnded
 * @property {Promise<string>} ended how it ended, as text: "exit code 1", "signal SIGKILL"
 * @property {string} logFile
 */

/**
 * Starts a process in a session of its own: Ctrl-C in the terminal reaches only the supervisor, which then stops
 * everything in order. Rejects when the program cannot be started at all.
 * @param {object} what
 * @param {string} what.command
 * @param {readonly string[]} what.args
 * @param {string} what.logFile standard output and error, appended
 * @param {NodeJS.ProcessEnv} [what.env] default: our own
 * @param {string} [what.cwd]
 * @param {string} [what.pidFile]
 * @param {number} [what.uid]
 * @param {number} [what.gid]
 * @returns {Promise<Child>}
 */
export async function launch({ command, args, logFile, env, cwd, pidFile, uid, gid }) {
  const log = openLog(logFile);
  // Before the program starts: it may write the file first.
  if (pidFile) mkdirSync(path.dirname(pidFile), { recursive: true });
  const child = spawn(command, args, { cwd, env, uid, gid, detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  let over = false;
  const ended = new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      over = true;
      resolve(signal ? `signal ${signal}` : `exit code ${code}`);
    });
  });
  await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));
  const pid = Number(child.pid);
  if (pidFile) {
    writeFileSync(pidFile, `${pid}\n`);
    ended.then(() => removePidFile(pidFile, pid));
  }
  return { pid, hasEnded: () => over, ended, logFile };
}

/**
 * Waits until the probe returns true. Rejects with the last lines of the log when the child ends first or the time is over,
 * and with the signal's reason when the signal is aborted.
 * @param {() => boolean | Promise<boolean>} probe an exception counts as false
 * @param {{ child: Child, what: string, withinMs: number, signal?: AbortSignal }} how
 */
export async function untilReady(probe, { child, what, withinMs, signal }) {
  const deadline = Date.now() + withinMs;
  for (;;) {
    signal?.throwIfAborted();
    if (child.hasEnded()) {
      throw new Error(
        `${what} ended before it was ready (${await child.ended}).\n${logExcerpt(child.logFile)}`,
      );
    }
    if (
      await Promise.resolve()
        .then(probe)
        .catch(() => false)
    )
      return;
    if (Date.now() >= deadline) {
      throw new Error(`${what} was not ready within ${withinMs / 1000} s.\n${logExcerpt(child.logFile)}`);
    }
    await delay(PROBE_EVERY_MS);
  }
}

/**
 * @param {string} url
 * @returns {() => Promise<boolean>} true for a 2xx response
 */
export function httpProbe(url) {
  return async () => {
    const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    await response.arrayBuffer();
    return response.ok;
  };
}

/**
 * Runs a program and returns its output. Rejects with its last output when it fails. When the signal is aborted, the
 * program and all its descendants are killed.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, input?: string, uid?: number, gid?: number,
 *   timeoutMs?: number, signal?: AbortSignal }} [how]
 * @returns {Promise<{ stdout: string, stderr: string }>}
 */
export async function run(
  command,
  args,
  { cwd, env, input = '', uid, gid, timeoutMs = 120_000, signal } = {},
) {
  signal?.throwIfAborted();
  const child = spawn(command, args, { cwd, env, uid, gid, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  const printed = { stdout: '', stderr: '' };
  for (const stream of /** @type {const} */ (['stdout', 'stderr'])) {
    child[stream].setEncoding('utf8').on('data', (/** @type {string} */ text) => {
      printed[stream] = (printed[stream] + text).slice(-OUTPUT_LIMIT_CHARACTERS);
    });
  }
  // Ignores EPIPE from a program that ends without reading its input; its exit code is checked.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const kill = () => child.pid && send(-child.pid, 'SIGKILL');
  const timer = setTimeout(kill, timeoutMs);
  signal?.addEventListener('abort', kill, { once: true });
  try {
    const outcome = await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, killedBy) => resolve(killedBy ?? code));
    });
    signal?.throwIfAborted();
    if (outcome !== 0) throw new Error(failure(command, outcome, printed));
    return printed;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', kill);
  }
}

/**
 * Stops a child of this process, whose pid cannot have been reused.
 * @param {Child} child
 * @param {{ signal?: NodeJS.Signals, graceMs?: number }} [how]
 */
export async function stopChild(child, how) {
  if (!child.hasEnded()) await stopProcess(child.pid, how);
}

/**
 * @param {string} logFile
 * @param {number} [count]
 */
function logExcerpt(logFile, count = 20) {
  try {
    const lines = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-count);
    return [`Last lines of ${logFile}:`, ...lines.map((line) => `  | ${line}`)].join('\n');
  } catch {
    return `Cannot read ${logFile}.`;
  }
}

/** @param {string} file */
function openLog(file) {
  mkdirSync(path.dirname(file), { recursive: true });
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > LOG_ROTATE_BYTES)
    renameSync(file, `${file}.1`);
  return openSync(file, 'a', 0o600);
}

/**
 * A successor may have written its own number already.
 * @param {string} file
 * @param {number} pid
 */
function removePidFile(file, pid) {
  try {
    if (readFileSync(file, 'utf8').trim() === String(pid)) rmSync(file);
  } catch {
    // Another process has removed it, or the whole folder.
  }
}

/**
 * @param {string} command
 * @param {string | number} outcome
 * @param {{ stdout: string, stderr: string }} printed
 */
function failure(command, outcome, { stdout, stderr }) {
  const how = typeof outcome === 'number' ? `exit code ${outcome}` : `signal ${outcome}`;
  const lines = `${stdout}\n${stderr}`.trim().split('\n').slice(-15);
  return [`${path.basename(command)} failed (${how}).`, ...lines.map((line) => `  | ${line}`)].join('\n');
}
