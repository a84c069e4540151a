// @ts-check
// File systems that a tool has mounted in folders of its own: such a folder cannot be removed before.
import { readFileSync } from 'node:fs';
import { run } from './child.mjs';

/** Unmounts everything below the folder, what was mounted last first. @param {string} folder absolute */
export async function unmountBelow(folder) {
  const lines = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  const places = lines.map((line) => line.split(' ')[1] ?? '').filter((at) => at.startsWith(`${folder}/`));
  for (const at of places.reverse()) await run('umount', ['-l', at]);
}
