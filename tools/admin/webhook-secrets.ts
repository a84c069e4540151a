import { randomBytes } from 'node:crypto';
import type { SealingKeys } from '@certwright/sealing';
import {
  credentialsContext,
  type EndpointUrl,
  readEndpointUrl,
  secretContext,
  signingSecret,
  signingSecretBytes,
} from '@certwright/webhooks';
import { sealingKeysOf } from './sealing-keys';

/** What is wrong with its host, the delivery says; an operator need not be told at once. */
export function splitUrl(text: string): EndpointUrl {
  const reading = readEndpointUrl(text);
  if ('fault' in reading) throw new Error(`The URL ${reading.fault}.`);
  return reading.value;
}

export function freshSecret(): string {
  return signingSecret(randomBytes(signingSecretBytes));
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

export const sealingKeys = async (): Promise<SealingKeys> =>
  await sealingKeysOf('SEALING_KEYS', 'sealing.keys');
