import { errorCode } from '../files/durable';
import type { Files } from '../files/files';

const maxBytes = 4 * 1024 * 1024;

/** A file of the state is damaged. Only a person can decide what to do about it. */
export class StateFault extends Error {}

export const enrolAgain = 'restore it from a backup, or remove it and enrol again';

/**
 * @param whatToDo when it is damaged
 * @returns null when there is no such file
 * @throws StateFault when it is not JSON; Error of the disk
 */
export function readJson<T>(files: Files, file: string, whatToDo = enrolAgain): T | null {
  let text: string;
  try {
    text = files.read(file, maxBytes).toString('utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new StateFault(`${file} is damaged; ${whatToDo}`);
  }
}
