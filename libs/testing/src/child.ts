import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { eventually } from './eventually';

export interface ChildOptions {
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** On top of the environment of the specs; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Child {
  readonly pid: number;
  /** Standard output and error so far, in the order of arrival. */
  output(): string;
  /** How it ended; pending while it runs. */
  readonly ended: Promise<Ending>;
  /** To the process alone: SIGKILL as a crash, SIGSTOP as a frozen machine, SIGCONT as its return. Ignored once it ended. */
  signal(name: NodeJS.Signals): void;
  /**
   * Waits for a line of its output.
   * @throws Error with the output when it ends first, or with the time when that is up (default 20,000 ms)
   */
  says(pattern: RegExp, withinMs?: number): Promise<void>;
  /** SIGTERM, then SIGKILL for its whole group after the grace (default 20,000 ms); resolves when it ended. */
  stop(graceMs?: number): Promise<Ending>;
}

/** A zombie, which may never be reaped, counts as gone: on Linux it has no command line any more. */
export function isAlive(pid: number): boolean {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const running = new Set<Child>();

/**
 * Starts a real process that a spec may kill or freeze. Whatever it still does when the spec file is over is killed, and
 * what even that misses, since the worker itself was killed, is killed at the end of the run.
 *
 * @throws Error when there is no such program
 */
export async function startChild(
  command: string,
  { args = [], cwd, env = {} }: ChildOptions = {},
): Promise<Child> {
  // A group of its own: what it starts in turn is killed together with it.
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, detached: true });
  child.stdin.end();
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  let ending: Ending | undefined;
  const ended = new Promise<Ending>((resolve) => {
    child.once('close', (code, signal) => resolve((ending = { code, signal })));
  });
  await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));
  const pid = Number(child.pid);
  const handle: Child = {
    pid,
    ended,
    output: () => output,
    signal: (name) => void child.kill(name),
    says: async (pattern, withinMs = 20_000) =>
      await eventually(
        () => {
          if (!pattern.test(output))
            throw new Error(`${pattern} not in the output of ${command}:\n${output}`);
        },
        { withinMs, isHopeless: () => ending !== undefined },
      ),
    stop: async (graceMs = 20_000) => {
      child.kill('SIGTERM');
      // A frozen process acts on SIGTERM only when it may run again.
      child.kill('SIGCONT');
      const timer = setTimeout(() => killGroup(pid), graceMs);
      return await ended.finally(() => clearTimeout(timer));
    },
  };
  running.add(handle);
  void ended.then(() => running.delete(handle));
  return handle;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It ended meanwhile.
  }
}

afterAll(async () => {
  for (const { pid } of running) killGroup(pid);
  await Promise.all([...running].map(({ ended }) => ended));
});
