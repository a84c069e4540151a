import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { readSealingKeys, type SealingKeys } from '@certwright/sealing';

/**
 * Keys that seal secrets at rest: from the variable, the file that `<variable>_FILE` names, or the one that `npm start`
 * made.
 *
 * @param madeByStart its name in the folder of `npm start`
 */
export async function sealingKeysOf(variable: string, madeByStart: string): Promise<SealingKeys> {
  const home = process.env['CERTWRIGHT_HOME'] ?? '.certwright';
  const file = process.env[`${variable}_FILE`] ?? path.join(home, madeByStart);
  const text = process.env[variable] ?? (await readFile(file, 'utf8').catch(() => undefined));
  if (text === undefined) {
    throw new Error(
      `Neither ${variable} nor ${variable}_FILE is set, and no "npm start" has left its keys (${file}).`,
    );
  }
  const keys = readSealingKeys(text);
  if (keys === null) throw new Error(`A key of ${variable} is not the base64 of 32 octets.`);
  return keys;
}
