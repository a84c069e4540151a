import { mkdir, open, rename } from 'node:fs/promises';
import path from 'node:path';

/** Writes a file atomically and durably, even if the machine stops. */
export async function writeWhole(file: string, content: string | Uint8Array, mode = 0o644): Promise<void> {
  const temporary = `${file}.new`;
  const handle = await open(temporary, 'w', mode);
  try {
    await handle.chmod(mode);
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
  await syncFolder(path.dirname(file));
}

/** A file's name is durable after its folder is synced. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}

/** Null when the file does not exist. */
export function orAbsent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
