import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { sealingKeysOf } from './sealing-keys';

/** Of a nonce of the sealing keys. */
const nonceOctets = 12;
/** As the worker asks for: below, a key can be guessed. */
const leastKeyOctets = 16;

/**
 * The HMAC key of an external account binding (RFC 8555, section 7.3.4), sealed with the keys that the worker opens it
 * with. An argument would be seen by everybody on the machine.
 *
 * @param file `-`: the standard input
 * @throws Error that never repeats what was read
 */
export async function sealedExternalAccountKey(authority: string, file: string): Promise<Buffer> {
  const keys = await sealingKeysOf('CA_ACCOUNT_KEYS', 'ca-account.keys');
  const given = file === '-' ? await text(process.stdin) : await readFile(file, 'utf8');
  // CAs print base64url, some with padding, some plain base64.
  const bare = given.trim().replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_');
  const octets = Buffer.from(bare, 'base64url');
  // Decoding skips what is not base64, so it is encoded again and compared.
  if (octets.toString('base64url') !== bare || octets.length < leastKeyOctets)
    throw new Error(`The HMAC key is not base64url of ${leastKeyOctets} octets or more.`);
  return keys.seal(bare, `ca-eab:${authority}`, randomBytes(nonceOctets));
}
