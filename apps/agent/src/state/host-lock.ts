import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { errorCode } from '../files/durable';
import type { Files } from '../files/files';

/** Another agent uses the same state. */
export class LockedFault extends Error {}

/**
 * One process at a time changes the state. The lock of a process that ended is taken over.
 *
 * @param pid of the process that takes it
 */
export function lockState(files: Files, state: string, pid = process.pid): { release(): void } {
  const file = path.join(state, 'lock');
  const own = `${pid} ${startOf(pid)}`;
  try {
    take(files, file, own, state);
  } catch (error) {
    // Such a disk is reported by the agent, which changes nothing on it and so needs no lock.
    if (['EROFS', 'ENOSPC', 'EDQUOT'].includes(errorCode(error) ?? '')) return { release: () => undefined };
    throw error;
  }
  return {
    release: () => {
      if (holderOf(files, file) === own) files.remove(file);
    },
  };
}

/**
 * A lock is a link whose target names its holder: unlike a file, it is never there without its content. Several
 * processes can find that a holder has ended. Only the one with the lock on that holder may replace its lock.
 */
function take(files: Files, file: string, own: string, state: string): void {
  for (;;) {
    try {
      return files.link(own, file);
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
    const holder = holderOf(files, file);
    if (holder === null) continue;
    const [pid = '', start] = holder.split(' ');
    if (start !== undefined && startOf(Number(pid)) === start)
      throw new LockedFault(
        `another agent (process ${pid}) uses ${state}; stop it first, such as with systemctl stop certwright-agent`,
      );
    const claim = `${file}.${createHash('sha256').update(holder).digest('hex').slice(0, 16)}`;
    take(files, claim, own, state);
    if (holderOf(files, file) === holder) return files.rename(claim, file);
    // Another process was first.
    files.remove(claim);
  }
}

/** @returns null when it is free */
function holderOf(files: Files, file: string): string | null {
  try {
    return files.readLink(file);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    // Not a link, so not the lock of an agent.
    if (errorCode(error) === 'EINVAL') return '';
    throw error;
  }
}

/** Start of a process in clock ticks since boot, so that a reused number is not taken for it (proc(5), field 22). */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot}/${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''}`;
  } catch {
    return '';
  }
}
