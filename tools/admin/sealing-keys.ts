import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { readSealingKeys, type SealingKeys } from '@certwright/sealing';

/**
 * Keys that encrypt secrets at rest: from the variable, the file that `<variable>_FILE` names, or the file that `npm start`
 * creates.
 *
 * @param startFile its name in the folder of `npm start`
 */
export async function sealingKeysOf(variable: string, startFile: string): Promise<SealingKeys> {
  const home = process.env['CERTWRIGHT_HOME'] ?? '.certwright';
  const file = process.env[`${variable}_FILE`] ?? path.join(home, startFile);
  const text = process.env[variable] ?? (await readFile(file, 'utf8').catch(() => undefined));
  if (text === undefined) {
    throw new Error(
      `Neither ${variable} nor ${variable}_FILE is set, and "npm start" has not created ${file}.`,
    );
  }
  const keys = readSealingKeys(text);
  if (keys === null) throw new Error(`A key of ${variable} is not the base64 of 32 bytes.`);
  return keys;
}
