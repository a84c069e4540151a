// @ts-check
// Other processes, by pid: whether one is alive or ours, which ones use a folder, and how to stop one.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processesWithEnvironment, workingDirectories } from './macos-processes.mjs';

/** Time for a process to stop by itself. Longer than the time that any app waits for running requests and jobs. */
export const STOP_GRACE_MS = 10_000;
/** After SIGKILL the kernel only has to reap it; the rest is margin for a loaded machine. */
const KILL_GRACE_MS = 5_000;
const POLL_MS = 20;

/**
 * A zombie counts as gone: it runs no code, and without an init it may never be reaped.
 * @param {number} pid
 */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
  return processState(pid) !== 'Z';
}

/**
 * The command line, with arguments separated by spaces; empty when the process does not exist or is not visible.
 * @param {number} pid
 * @returns {string}
 */
export function commandLine(pid) {
  try {
    if (process.platform === 'linux') {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
    }
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    return '';
  }
}

/**
 * Pids are reused after a crash or a reboot, so a pid file alone proves nothing.
 * @param {number | undefined} pid
 * @param {string} marker text that only our command line contains, such as the absolute path of the program's file
 * @returns {pid is number}
 */
export function isOurs(pid, marker) {
  return pid !== undefined && isAlive(pid) && commandLine(pid).includes(marker);
}

/**
 * @param {string} file its first line is the number
 * @returns {number | undefined}
 */
export function readPid(file) {
  try {
    const pid = Number.parseInt(readFileSync(file, 'utf8'), 10);
    return pid > 1 ? pid : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Processes that run this program with this folder, or one below it, as working directory. PostgreSQL (with every backend)
 * and Redis change to their data folder, so this finds processes of a killed supervisor without a valid pid file. The
 * program's name excludes a user's shell or pager in that folder. Linux and macOS.
 * @param {string} folder
 * @param {string} program file name of the executable
 * @returns {number[]}
 */
export function processesIn(folder, program) {
  const real = existsSync(folder) ? realpathSync(folder) : path.resolve(folder);
  const isWithin = (/** @type {string} */ place) => place === real || place.startsWith(real + path.sep);
  if (process.platform === 'darwin') {
    const theirs = workingDirectories(program).filter(({ cwd }) => isWithin(cwd));
    return theirs.map(({ pid }) => pid).filter(isAlive);
  }
  return allPids().filter(
    (pid) => isWithin(workingDirectory(pid)) && programOf(pid) === program && isAlive(pid),
  );
}

/**
 * Processes, except this one, that have this environment variable: all descendants inherit it, in any process group or
 * session. Servers that rewrite their title lose it (`processesIn` finds them). Linux and macOS.
 * @param {string} name
 * @param {string} value
 * @returns {number[]}
 */
export function processesWithSetting(name, value) {
  const entry = `${name}=${value}`;
  const found =
    process.platform === 'darwin'
      ? processesWithEnvironment(entry)
      : allPids().filter((pid) => environment(pid).includes(entry));
  return found.filter((pid) => pid !== process.pid && isAlive(pid));
}

/**
 * Sends the signal, waits, then kills. Returns true when the process stopped by itself. Also ends a process that was frozen
 * with SIGSTOP.
 * @param {number} pid
 * @param {{ signal?: NodeJS.Signals, graceMs?: number }} [how]
 * @returns {Promise<boolean>}
 */
export async function stopProcess(pid, { signal = 'SIGTERM', graceMs = STOP_GRACE_MS } = {}) {
  send(pid, signal);
  send(pid, 'SIGCONT');
  if (await isGone(pid, graceMs)) return true;
  send(-pid, 'SIGKILL');
  send(pid, 'SIGKILL');
  await isGone(pid, KILL_GRACE_MS);
  return false;
}

/**
 * @param {number} pid
 * @param {number} withinMs
 */
export async function isGone(pid, withinMs) {
  const deadline = Date.now() + withinMs;
  while (isAlive(pid)) {
    if (Date.now() >= deadline) return false;
    await delay(POLL_MS);
  }
  return true;
}

/**
 * @param {number} pid negative: its process group
 * @param {NodeJS.Signals} signal
 */
export function send(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch (error) {
    const code = errorCode(error);
    // macOS refuses a signal to a group of which only zombies are left.
    const isGone = code === 'ESRCH' || (code === 'EPERM' && pid < 0 && process.platform === 'darwin');
    if (!isGone) throw error;
  }
}

/** @param {unknown} error */
export function errorCode(error) {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** @param {number} pid servers rewrite their title, as in "postgres: checkpointer" */
function programOf(pid) {
  return path.basename(commandLine(pid).split(' ')[0] ?? '').replace(/:$/, '');
}

function allPids() {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number);
}

/** @param {number} pid empty when it may not be seen */
function workingDirectory(pid) {
  try {
    // The kernel's mark on a folder that was removed under its user (proc(5)).
    return readlinkSync(`/proc/${pid}/cwd`).replace(/ \(deleted\)$/, '');
  } catch {
    return '';
  }
}

/** @param {number} pid the settings that it was started with; empty when they may not be seen */
function environment(pid) {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

/** @param {number} pid the letter after the name in parentheses, which may itself contain anything (proc(5)) */
function processState(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.charAt(stat.lastIndexOf(')') + 2);
  } catch {
    return undefined;
  }
}
