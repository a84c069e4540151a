import { createHash } from 'node:crypto';

const names = new Map<string, string>();

/** Name of a prepared statement: a digest of its text, which is a constant of the code. The same in every connection. */
export function statementName(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = createHash('sha256').update(text).digest('base64url').slice(0, 32);
  names.set(text, name);
  return name;
}
