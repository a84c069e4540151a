// @ts-check
// One Jest run in a process group of its own: bounded, interruptible, and with nothing left behind.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { isGone, send } from '../embedded/process.mjs';
import { nodeBinary, workspaceRoot } from '../up/workspace.mjs';
import { checkGrants, forgetLog } from './check-grants.mjs';
import { clearRun, runFolder } from './run-services.mjs';

/** After the last spec: stopping the stores takes a second. Longer means that a spec left a handle open. */
const EXIT_WITHIN_MS = 20_000;
const INTERRUPT_GRACE_MS = 5_000;
const POLL_MS = 200;
/** MiB. The modules of every spec file are loaded again: with Node's 16 MiB a fifth of the processor time is garbage collection. */
const YOUNG_GENERATION_MIB = 64;

/**
 * @typedef {object} Outcome
 * @property {number} passed
 * @property {number} failed
 * @property {string | null} fault why the run counts as failed although no test did
 */

/**
 * @param {readonly string[]} args project roots, spec files, options of Jest
 * @param {AbortSignal} signal
 * @returns {Promise<Outcome>}
 */
export async function runJest(args, signal) {
  const folder = runFolder(process.pid);
  // Beside the folder: Jest removes that before it ends.
  const countsFile = `${folder}.counts.json`;
  mkdirSync(folder, { recursive: true });
  // The workers are started with the same options of Node.
  const options = [`--max-semi-space-size=${YOUNG_GENERATION_MIB}`];
  const jest = ['node_modules/jest/bin/jest.js', '-c', 'tools/test/jest.config.cjs', ...args.map(toPattern)];
  const env = { ...process.env, CERTWRIGHT_TEST_RUN: folder, CERTWRIGHT_TEST_COUNTS: countsFile };
  const child = spawn(nodeBinary(), [...options, ...jest], {
    cwd: workspaceRoot,
    env,
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const pid = Number(child.pid);
  const interrupt = async () => {
    send(-pid, 'SIGTERM');
    if (!(await isGone(pid, INTERRUPT_GRACE_MS))) send(-pid, 'SIGKILL');
  };
  signal.addEventListener('abort', interrupt, { once: true });
  const hung = killWhenHung(pid, countsFile);
  try {
    const exitCode = await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', resolve);
    });
    const counts = existsSync(countsFile) ? JSON.parse(readFileSync(countsFile, 'utf8')) : undefined;
    const outcome = outcomeOf({ counts, exitCode, hung: hung.stop(), interrupted: signal.aborted });
    if (counts === undefined || outcome.fault !== null) return outcome;
    const isFiltered = args.some((argument) => /^(-t|--testNamePattern)/.test(argument));
    const grants = await checkGrants(folder, { passedFiles: counts.passedFiles, isFiltered }, signal);
    return { ...outcome, passed: outcome.passed + grants.passed, failed: outcome.failed + grants.failed };
  } finally {
    // Workers of a killed Jest; then the stores and the children of specs.
    send(-pid, 'SIGKILL');
    await clearRun(folder);
    rmSync(countsFile, { force: true });
    forgetLog(folder);
  }
}

/**
 * @param {{ counts?: { passed: number, failed: number }, exitCode: number | null, hung: boolean, interrupted: boolean }} run
 * @returns {Outcome}
 */
function outcomeOf({ counts, exitCode, hung, interrupted }) {
  const { passed, failed } = counts ?? { passed: 0, failed: 0 };
  const fault = () => {
    if (interrupted) return 'The run was interrupted.';
    if (!counts) return 'Jest ended before the first spec; what it printed above says why.';
    if (hung)
      return 'Jest did not exit after the last spec: one of them left a server, a timer or a process open.';
    if (passed + failed === 0) return 'No test was run: no spec matches.';
    if (exitCode !== 0 && failed === 0) return `Jest failed (exit code ${exitCode}) although no test did.`;
    return null;
  };
  return { passed, failed, fault: fault() };
}

/**
 * A directory means everything below it and not its namesakes with a longer name; other arguments are Jest's own.
 * @param {string} argument
 */
function toPattern(argument) {
  const absolute = path.resolve(workspaceRoot, argument);
  if (argument.startsWith('-') || !existsSync(absolute)) return argument;
  const escaped = absolute.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return statSync(absolute).isDirectory() ? `${escaped}/` : `${escaped}$`;
}

/**
 * @param {number} pid
 * @param {string} countsFile written when the last spec is over
 */
function killWhenHung(pid, countsFile) {
  let hung = false;
  let since = 0;
  const timer = setInterval(() => {
    if (since === 0 && existsSync(countsFile)) since = Date.now();
    if (since === 0 || Date.now() - since < EXIT_WITHIN_MS) return;
    hung = true;
    send(-pid, 'SIGKILL');
  }, POLL_MS);
  return {
    stop: () => {
      clearInterval(timer);
      return hung;
    },
  };
}
