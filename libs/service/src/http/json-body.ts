import { Problem } from '@certwright/errors';

/** Our bodies nest three levels deep. Later code recurses and must not overflow the stack. */
const maxNesting = 32;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @throws Problem `bad_request` */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Problem('bad_request', 'The body is not UTF-8.');
  }
}

/**
 * Parses JSON (RFC 8259) and refuses a member `__proto__`, deep nesting, NUL and lone surrogates. PostgreSQL cannot
 * store NUL, and stores every lone surrogate as U+FFFD, so that different names would become the same.
 *
 * @throws Problem `bad_request`
 */
export function parseJsonBody(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Problem(
      'bad_request',
      text.trim() === '' ? 'The body is empty; JSON is needed.' : 'The body is not JSON.',
    );
  }
  checkValue(value);
  return value;
}

/** Iterative, since the value may be nested deeply. */
function checkValue(root: unknown): void {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxNesting) {
      throw new Problem('bad_request', `The body is nested more than ${maxNesting} levels deep.`);
    }
    const below: unknown[] = [];
    for (const value of level) {
      if (typeof value === 'string') checkText(value);
      else if (Array.isArray(value)) for (const element of value) below.push(element);
      else if (typeof value === 'object' && value !== null) collectMembers(value, below);
    }
    level = below;
  }
}

function collectMembers(object: object, below: unknown[]): void {
  for (const [name, value] of Object.entries(object)) {
    if (name === '__proto__') throw new Problem('bad_request', 'The body has a member named __proto__.');
    checkText(name);
    below.push(value);
  }
}

/** @throws Problem `bad_request` for a NUL or a lone surrogate */
export function checkText(text: string): void {
  if (text.includes('\0')) throw new Problem('bad_request', 'The body contains a NUL character.');
  if (/\p{Surrogate}/u.test(text)) {
    throw new Problem('bad_request', 'The body contains a lone surrogate, which is not a character.');
  }
}
