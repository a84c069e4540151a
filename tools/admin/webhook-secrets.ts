import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { readSealingKeys, type SealingKeys } from '@certwright/sealing';
import {
  credentialsContext,
  type EndpointUrl,
  readEndpointUrl,
  secretContext,
  signingSecret,
  signingSecretOctets,
} from '@certwright/webhooks';

/** What is wrong with its host, the delivery says; an operator need not be told at once. */
export function splitUrl(text: string): EndpointUrl {
  const reading = readEndpointUrl(text);
  if ('fault' in reading) throw new Error(`The URL ${reading.fault}.`);
  return reading.value;
}

export function freshSecret(): string {
  return signingSecret(randomBytes(signingSecretOctets));
}

/** Of a nonce of the sealing keys. */
const nonceOctets = 12;

export function sealSecret(keys: SealingKeys, id: string, secret: string): Buffer {
  return keys.seal(secret, secretContext(id), randomBytes(nonceOctets));
}

export function sealCredentials(keys: SealingKeys, id: string, credentials: string | null): Buffer | null {
  return credentials === null
    ? null
    : keys.seal(credentials, credentialsContext(id), randomBytes(nonceOctets));
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
  const keys = readSealingKeys(text);
  if (keys === null) throw new Error('A sealing key is not the base64 of 32 octets.');
  return keys;
}
