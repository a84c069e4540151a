import { readFileSync } from 'node:fs';
import path from 'node:path';
import { errorCode, secret } from '../files/durable';
import type { Files } from '../files/files';

/** Another agent uses the same state. */
export class LockedFault extends Error {}

/** One process at a time changes the state. The lock of a process that ended is taken over. */
export function lockState(files: Files, state: string): { release(): void } {
  const file = path.join(state, 'lock');
  const own = `${process.pid} ${startOf(process.pid)}\n`;
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      files.create(file, Buffer.from(own), secret);
      return {
        release: () => {
          if (holderOf(files, file) === own) files.remove(file);
        },
      };
    } catch (error) {
      const code = errorCode(error) ?? '';
      // Such a disk is reported by the agent, which changes nothing on it and so needs no lock.
      if (['EROFS', 'ENOSPC', 'EDQUOT'].includes(code)) return { release: () => undefined };
      if (code !== 'EEXIST') throw error;
    }
    const holder = holderOf(files, file);
    const [pid = '', start] = (holder ?? '').trim().split(' ');
    if (pid !== '' && start !== undefined && startOf(Number(pid)) === start)
      throw new LockedFault(
        `another agent (process ${pid}) uses ${state}; stop it first, such as with systemctl stop certwright-agent`,
      );
    if (holder !== null) files.remove(file);
  }
  throw new LockedFault(`another agent starts at the same time in ${state}; run the command again`);
}

function holderOf(files: Files, file: string): string | null {
  try {
    return files.read(file, 256).toString('latin1');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
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
