import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** Addresses that `npm start` stores for scripts. */
export interface StartedPlatform {
  readonly database_url: string;
  readonly ct_database_url?: string;
  readonly redis_url: string;
  /** Base URL of the DNS gateway. */
  readonly gateway?: string;
  /** Folder with its CA and the certificates of its clients. */
  readonly gateway_keys?: string;
}

/** @returns undefined if `npm start` has never run here */
export async function startedPlatform(): Promise<StartedPlatform | undefined> {
  const home = process.env['CERTWRIGHT_HOME'] ?? '.certwright';
  try {
    return JSON.parse(await readFile(path.join(home, 'start.json'), 'utf8')) as StartedPlatform;
  } catch {
    return undefined;
  }
}
