import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';

/**
 * Lock of the process that writes an instance's chain. Node has no flock, and a pid alone is ambiguous: every
 * container has a process 1. A process is identified by host, boot, pid and start tick, so its successor, even in
 * the same container, recognizes the lock of a killed process as stale. Processes of another host cannot be
 * inspected: such a lock is never taken over, and an operator removes the file.
 *
 * Two machines or containers of one name cannot see each other's processes, so a running holder may be taken for
 * dead. It detects this at its next entry. If two processes get past the lock at the same moment, the second fails
 * when both create the same file.
 */
interface Holder {
  readonly host: string;
  readonly boot: string;
  readonly pid: number;
  /** Clock ticks between boot and the start of the process; empty when /proc does not provide it. */
  readonly startTick: string;
}

export interface InstanceLock {
  /** @throws Error when a process that cannot see this one has taken over the lock */
  assertHeld(): Promise<void>;
  release(): Promise<void>;
}

/** @throws Error that names the holder and the file when another process writes this instance's chain */
export async function lockInstance(folder: string, instance: string): Promise<InstanceLock> {
  const file = path.join(folder, `${instance}.lock`);
  const own = JSON.stringify(await holderOf(process.pid));
  const candidate = `${file}.${randomUUID()}`;
  // Linked into place when complete, so that no reader sees a partly written lock.
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

/** One process at a time: of many that find a stale lock, the first replaces it and the others fail. */
async function takeOver(candidate: string, file: string, instance: string): Promise<void> {
  const claim = `${file}.takeover`;
  if (!(await linked(candidate, claim))) {
    // A process that died during a takeover leaves a claim, which is as stale as a lock.
    const claimant = await staleHolder(claim, instance, 'a process that starts just now');
    if (claimant !== null) await rm(claim, { force: true });
    if (!(await linked(candidate, claim))) throw taken(file, instance, 'a process that starts just now');
  }
  try {
    const stale = await staleHolder(file, instance, null);
    // Only the holder of the claim removes a stale lock; any process may take a released one.
    if (stale !== null) await rename(candidate, file);
    else if (!(await linked(candidate, file))) throw taken(file, instance, 'a process that starts just now');
  } finally {
    await rm(claim, { force: true });
  }
}

/**
 * @param description of the holder, when more is known than the lock's content
 * @returns the dead holder; null when the file does not exist
 * @throws Error when the holder may be running
 */
async function staleHolder(
  file: string,
  instance: string,
  description: string | null,
): Promise<Holder | null> {
  const content = await contentOf(file);
  if (content === null) return null;
  const holder = readHolder(content);
  if (holder === null) throw taken(file, instance, description ?? 'an unknown process');
  if (await mayLive(holder))
    throw taken(file, instance, description ?? `process ${holder.pid} on ${holder.host}`);
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
  // proc_pid_stat(5): field 22; field 2 is in parentheses and may contain spaces.
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
