import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { SealingKeys } from '@certwright/sealing';

/** What is wrong with its host, the delivery says; an operator need not be told at once. */
export function splitUrl(text: string): { readonly url: string; readonly credentials: string | null } {
  const isPlain = /^https?:\/\/[^\s\\#\p{Cc}]+$/iu.test(text) && text.length <= 2_048 && URL.canParse(text);
  if (!isPlain) throw new Error(`"${text}" is no URL with http or https, and without fragment.`);
  const url = new URL(text);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  if (username === '' && password === '') return { url: url.href, credentials: null };
  return { url: url.href, credentials: `${decodeURIComponent(username)}:${decodeURIComponent(password)}` };
}

/** As Standard Webhooks writes a secret. */
export function freshSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

export function seal(keys: SealingKeys, id: string, what: 'secret' | 'credentials', text: string): Buffer {
  return keys.seal(text, `webhook-endpoint:${id}:${what}`, randomBytes(12));
}

/** From SEALING_KEYS, the file that SEALING_KEYS_FILE names, or the one that `npm start` made. */
export async function sealingKeys(): Promise<SealingKeys> {
  const file =
    process.env['SEALING_KEYS_FILE'] ??
    path.join(process.env['CERTWRIGHT_HOME'] ?? '.certwright', 'sealing.keys');
  const text = process.env['SEALING_KEYS'] ?? (await readFile(file, 'utf8').catch(() => undefined));
  if (text === undefined) {
    throw new Error(
      'Neither SEALING_KEYS nor SEALING_KEYS_FILE is set, and no "npm start" has left its keys.',
    );
  }
  return new SealingKeys(text.split(',').map((key) => Buffer.from(key.trim(), 'base64')));
}
