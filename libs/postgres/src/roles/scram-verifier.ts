import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';

/** As PostgreSQL's `scram_iterations`. */
const iterations = 4_096;

/**
 * What PostgreSQL keeps of a password (RFC 5802 with SHA-256), in the form that `PASSWORD '…'` takes.
 *
 * @param password printable ASCII, so that SASLprep would not change it
 */
export function scramVerifier(password: string, salt: Buffer = randomBytes(16)): string {
  if (!/^[\x20-\x7e]+$/.test(password)) throw new TypeError('A password of a role is printable ASCII.');
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(keyed('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${keyed('Server Key').toString('base64')}`;
}
