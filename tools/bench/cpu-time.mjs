// CPU time of processes, from /proc, including their ended children.
import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ, proc_pid_stat(5): 100 on every Linux that Node runs on. */
const ticksPerSecond = 100;

/** @param {number} pid @returns {{ parent: number, seconds: number } | undefined} undefined: it is gone */
function stat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [utime, stime, cutime, cstime] = fields.slice(11, 15).map(Number);
    return { parent: Number(fields[1]), seconds: (utime + stime + cutime + cstime) / ticksPerSecond };
  } catch {
    return undefined;
  }
}

/** Seconds of a process and all that descend from it. @param {number} pid */
export function cpuSeconds(pid) {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  const stats = new Map(all.map((each) => [each, stat(each)]));
  const sum = (own) =>
    (stats.get(own)?.seconds ?? 0) +
    all.filter((each) => stats.get(each)?.parent === own).reduce((total, each) => total + sum(each), 0);
  return sum(pid);
}

/** Seconds of this process (in microseconds) and of its ended descendants. */
export function ownCpuSeconds() {
  const text = readFileSync('/proc/self/stat', 'utf8');
  const [cutime, cstime] = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .slice(13, 15)
    .map(Number);
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + (cutime + cstime) / ticksPerSecond;
}
