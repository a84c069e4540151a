// @ts-check
// Replaces /proc on macOS with lsof and ps, which are part of the system.
import { execFileSync } from 'node:child_process';

/** Every process with its environment. */
const OUTPUT_LIMIT_BYTES = 64 * 1024 * 1024;

/**
 * @param {string} program file name of the executable
 * @returns {{ pid: number, cwd: string }[]}
 */
export function workingDirectories(program) {
  return parseLsof(output('lsof', ['-w', '-a', '-d', 'cwd', '-c', program, '-F', 'pn']));
}

/**
 * @param {string} entry `NAME=value`
 * @returns {number[]}
 */
export function processesWithEnvironment(entry) {
  return parsePs(output('ps', ['-axww', '-E', '-o', 'pid=,command=']), entry);
}

/**
 * One field per line: `p` and the pid, then `f` and the descriptor, then `n` and the folder.
 * @param {string} text
 */
export function parseLsof(text) {
  let pid = 0;
  /** @type {{ pid: number, cwd: string }[]} */
  const found = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('p')) pid = Number(line.slice(1));
    if (line.startsWith('n')) found.push({ pid, cwd: line.slice(1) });
  }
  return found;
}

/**
 * One process per line: pid, command line and environment, separated by spaces.
 * @param {string} text
 * @param {string} entry
 */
export function parsePs(text, entry) {
  const lines = text.split('\n').filter((line) => `${line} `.includes(` ${entry} `));
  return lines.map((line) => Number.parseInt(line, 10));
}

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @returns {string} also of a command that fails: lsof fails when it finds nothing, or cannot read all processes
 */
function output(command, args) {
  try {
    return execFileSync(command, args, {
      encoding: 'utf8',
      maxBuffer: OUTPUT_LIMIT_BYTES,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch (error) {
    const { stdout } = /** @type {{ stdout?: string }} */ (error);
    return stdout ?? '';
  }
}
