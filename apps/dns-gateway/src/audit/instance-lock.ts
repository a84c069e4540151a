import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';

/**
 * Who writes an instance's chain. Node has no flock, and a pid alone says little: containers all have a process 1. A
 * process is told by host, boot, pid and the tick it started at, so that the lock of a killed process is known as stale,
 * by its successor in the same container too. Another host's processes cannot be looked at: such a lock is never taken
 * over, and a person removes the file.
 *
 * Two machines, or containers, of one name cannot see each other's processes: there a living holder may be taken for dead.
 * It notices with its next entry. Should two processes get past the lock at the same moment, the second one fails at the
 * file that both want to make.
 */
interface Holder {
  readonly host: string;
  readonly boot: string;
  readonly pid: number;
  /** Clock ticks between boot and the start of the process; empty where /proc does not tell. */
  readonly startTick: string;
}

export interface InstanceLock {
  /** @throws Error when another process has taken it over, as one may that cannot see this process */
  assertHeld(): Promise<void>;
  release(): Promise<void>;
}

/** @throws Error that names the holder and the file when another process writes this instance's chain */
export async function lockInstance(folder: string, instance: string): Promise<InstanceLock> {
  const file = path.join(folder, `${instance}.lock`);
  const own = JSON.stringify(await holderOf(process.pid));
  const candidate = `${file}.${randomUUID()}`;
  // Linked into place when it is whole: a lock is never seen half-written.
  let ino: number;
  try {
    await writeFile(candidate, own, { mode: 0o600 });
    ({ ino } = await stat(candidate));
    if (!(await linked(candidate, file))) await takeOver(candidate, file, instance);
  } finally {
    await rm(candidate, { force: true });
  }
  const isHeld = async (): Promise<boolean> => {
    const inPlace = await stat(file).catch(() => null);
    return inPlace?.ino === ino;
  };
  return {
    assertHeld: async () => {
      if (!(await isHeld())) throw new Error('its lock is no longer its own');
    },
    release: async () => {
      if (await isHeld()) await unlink(file);
    },
  };
}

async function linked(candidate: string, file: string): Promise<boolean> {
  try {
    await link(candidate, file);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** One at a time: of many that find a stale lock, the first replaces it and the others are refused. */
async function takeOver(candidate: string, file: string, instance: string): Promise<void> {
  const claim = `${file}.takeover`;
  if (!(await linked(candidate, claim))) {
    // Whoever died while taking over leaves a claim, which is as stale as a lock.
    const claimant = await staleHolder(claim, instance, 'a process that starts just now');
    if (claimant !== null) await rm(claim, { force: true });
    if (!(await linked(candidate, claim))) throw taken(file, instance, 'a process that starts just now');
  }
  try {
    const stale = await staleHolder(file, instance, null);
    // A stale lock stays where it is but for whoever holds the claim; one that was given back is anybody's.
    if (stale !== null) await rename(candidate, file);
    else if (!(await linked(candidate, file))) throw taken(file, instance, 'a process that starts just now');
  } finally {
    await rm(claim, { force: true });
  }
}

/**
 * @param words who holds it, where that is known better than from its content
 * @returns the holder that lives no more; null: there is no such file
 * @throws Error when the holder may live
 */
async function staleHolder(file: string, instance: string, words: string | null): Promise<Holder | null> {
  const content = await contentOf(file);
  if (content === null) return null;
  const holder = readHolder(content);
  if (holder === null) throw taken(file, instance, words ?? 'an unknown process');
  if (await mayLive(holder)) throw taken(file, instance, words ?? `process ${holder.pid} on ${holder.host}`);
  return holder;
}

async function mayLive(holder: Holder): Promise<boolean> {
  if (holder.host !== hostname()) return true;
  if (holder.boot !== (await bootId())) return false;
  const now = await holderOf(holder.pid);
  if (holder.startTick !== '' || now.startTick !== '') return holder.startTick === now.startTick;
  try {
    process.kill(holder.pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}

async function holderOf(pid: number): Promise<Holder> {
  const stat = await contentOf(`/proc/${pid}/stat`);
  // proc_pid_stat(5): the 22nd field; the second is in parentheses and may hold blanks.
  const startTick = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  return { host: hostname(), boot: await bootId(), pid, startTick };
}

async function bootId(): Promise<string> {
  return (await contentOf('/proc/sys/kernel/random/boot_id'))?.trim() ?? '';
}

async function contentOf(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(codeOf(error) ?? '')) return null;
    throw error;
  }
}

function readHolder(content: string): Holder | null {
  try {
    const holder = JSON.parse(content) as Partial<Holder> | null;
    return holder !== null &&
      typeof holder.host === 'string' &&
      typeof holder.boot === 'string' &&
      Number.isSafeInteger(holder.pid) &&
      typeof holder.startTick === 'string'
      ? (holder as Holder)
      : null;
  } catch {
    return null;
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

function taken(file: string, instance: string, holder: string): Error {
  return new Error(
    `The audit log of instance ${instance} is written by ${holder}. Give each process an instance name of its own; if that process is gone for good, remove ${file}.`,
  );
}
