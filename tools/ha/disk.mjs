// @ts-check
// Small disks in memory, which can be filled. Mounting them needs root.
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { run } from '../embedded/child.mjs';
import { errorCode } from '../embedded/process.mjs';

const BALLAST = 'ballast';
const CHUNK = Buffer.alloc(64 * 1024);

/** @param {string} folder @param {number} megabytes @returns {Promise<() => Promise<void>>} removes it */
export async function mountDisk(folder, megabytes) {
  if (process.getuid?.() !== 0)
    throw new Error(
      'the part "disk" mounts file systems of its own and needs root; run it as root, or leave it out',
    );
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0700`, 'tmpfs', folder]);
  return async () => void (await run('umount', ['-l', folder]));
}

/** Leaves no byte free. @param {string} folder @returns {() => void} frees the space */
export function fillDisk(folder) {
  const file = path.join(folder, BALLAST);
  const descriptor = openSync(file, 'w');
  try {
    for (;;) writeSync(descriptor, CHUNK);
  } catch (error) {
    if (errorCode(error) !== 'ENOSPC') throw error;
  } finally {
    closeSync(descriptor);
  }
  return () => rmSync(file, { force: true });
}
