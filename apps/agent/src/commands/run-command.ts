import { type ChildProcess, spawn } from 'node:child_process';

export interface CommandOptions {
  readonly timeoutMs: number;
  /** Written to standard input, which is then closed. */
  readonly input?: string;
  /** Of the process; the join string is not among them. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Bytes of output that are returned; more is read and dropped. Default 8 KiB. */
  readonly maxOutputBytes?: number;
  readonly signal?: AbortSignal;
}

export interface CommandResult {
  readonly isOk: boolean;
  /** Null for a good result: what happened, with the end of the output. */
  readonly problem: string | null;
  readonly stdout: Buffer;
}

/** Between SIGTERM and SIGKILL. */
const graceMs = 2000;
/** For the last output of a process that ended; children that it leaves behind may keep the pipe open. */
const drainMs = 50;

/** Groups of commands that run, to end them with the agent. */
const running = new Set<number>();

/**
 * Runs a program with its arguments, without a shell, in a process group of its own. After the time limit, the whole
 * group is ended. A background process that it leaves is neither waited for nor ended.
 */
export async function runCommand(
  [program = '', ...args]: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  const { timeoutMs, input, environment, maxOutputBytes = 8192, signal } = options;
  const stdio = [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'] as const;
  const child = spawn(program, args, {
    cwd: '/',
    detached: true,
    env: { ...environment },
    stdio: [...stdio],
  });
  const output = new BoundedOutput(child, maxOutputBytes);
  let ended: 'no' | 'timeout' | 'stopped' = 'no';
  const end = (why: 'timeout' | 'stopped') => {
    if (ended !== 'no') return;
    ended = why;
    endGroup(child);
  };
  const timer = setTimeout(() => end('timeout'), timeoutMs);
  const onAbort = () => end('stopped');
  signal?.addEventListener('abort', onAbort);
  if (signal?.aborted === true) onAbort();
  try {
    child.stdin?.on('error', () => undefined).end(input);
    const result = await exitOf(child);
    await output.drained();
    const isOk = result.error === null && result.code === 0 && ended === 'no';
    return {
      isOk,
      problem: isOk ? null : describe(program, result, ended, timeoutMs, output.end()),
      stdout: output.stdout(),
    };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
    if (child.pid !== undefined) running.delete(child.pid);
    output.release();
  }
}

interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  readonly error: Error | null;
}

async function exitOf(child: ChildProcess): Promise<Exit> {
  if (child.pid !== undefined) running.add(child.pid);
  return await new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, signal: null, error }));
    child.once('exit', (code, signal) => resolve({ code, signal, error: null }));
  });
}

/** The group, not the process alone: it may have children that hang. */
function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  signalGroup(pid, 'SIGTERM');
  setTimeout(() => signalGroup(pid, 'SIGKILL'), graceMs);
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // Every process of the group has ended.
  }
}

/** When the agent must end now. */
export function killRunningCommands(): void {
  for (const pid of running) signalGroup(pid, 'SIGKILL');
}

class BoundedOutput {
  private readonly out: Buffer[] = [];
  private outBytes = 0;
  private tail = Buffer.alloc(0);
  private open = 0;
  private onClosed: () => void = () => undefined;

  constructor(
    private readonly child: ChildProcess,
    private readonly maxBytes: number,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      this.open++;
      stream.on('data', (chunk: Buffer) => this.add(chunk, stream === child.stdout));
      stream.on('error', () => undefined);
      stream.once('close', () => {
        if (--this.open === 0) this.onClosed();
      });
    }
  }

  async drained(): Promise<void> {
    if (this.open === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, drainMs);
      this.onClosed = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  stdout(): Buffer {
    return Buffer.concat(this.out);
  }

  /** The last lines of both streams, on one line. */
  end(): string {
    return this.tail
      .toString('utf8')
      .replace(/[^\P{C}\n]/gu, '')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .join(' | ')
      .slice(-300);
  }

  /** A background process may write on: what it writes is read and dropped, so that it does not block or fail. */
  release(): void {
    this.out.length = 0;
    for (const stream of [this.child.stdout, this.child.stderr]) {
      (stream as { unref?(): void } | null)?.unref?.();
      stream?.removeAllListeners('data').resume();
    }
    this.child.unref();
  }

  private add(chunk: Buffer, isStdout: boolean): void {
    this.tail = Buffer.concat([this.tail, chunk]).subarray(-1024);
    if (!isStdout || this.outBytes >= this.maxBytes) return;
    const part = chunk.subarray(0, this.maxBytes - this.outBytes);
    this.outBytes += part.length;
    this.out.push(part);
  }
}

function describe(
  program: string,
  { code, signal, error }: Exit,
  ended: 'no' | 'timeout' | 'stopped',
  timeoutMs: number,
  output: string,
): string {
  const said = output === '' ? '' : `: ${output}`;
  if (error !== null) {
    const { code: reason } = error as NodeJS.ErrnoException;
    if (reason === 'ENOENT') return `${program} was not found; write the full path of the program`;
    if (reason === 'EACCES') return `${program} may not be run; check its permissions`;
    return `${program} cannot be run: ${error.message}`;
  }
  if (ended === 'timeout') return `${program} did not end within ${timeoutMs / 1000} s and was ended${said}`;
  if (ended === 'stopped') return `${program} was ended because the agent stops`;
  return code === null
    ? `${program} was ended by ${signal ?? 'a signal'}${said}`
    : `${program} returned ${code}${said}`;
}
