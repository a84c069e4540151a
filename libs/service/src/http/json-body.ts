import { type FieldFault, holdsPrivateKey, maxFaults, Problem } from '@certwright/errors';

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
 * @throws Problem `bad_request`, with one sub-error per member that holds such a character
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
  let badCharacter: string | null = null;
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxNesting) {
      throw new Problem('bad_request', `The body is nested more than ${maxNesting} levels deep.`);
    }
    const below: unknown[] = [];
    for (const value of level) {
      if (typeof value === 'string') badCharacter ??= badCharacterIn(value);
      else if (Array.isArray(value)) for (const element of value) below.push(element);
      else if (typeof value === 'object' && value !== null) collectMembers(value, below);
    }
    level = below;
  }
  if (badCharacter !== null) throw badCharacters(root, badCharacter);
}

function collectMembers(object: object, below: unknown[]): void {
  for (const [name, value] of Object.entries(object)) {
    if (name === '__proto__') throw new Problem('bad_request', 'The body has a member named __proto__.');
    checkName(name);
    below.push(value);
  }
}

/** @throws Problem `bad_request` for a NUL or a lone surrogate in the name of a member or field */
export function checkName(name: string): void {
  const character = badCharacterIn(name);
  if (character !== null)
    throw new Problem('bad_request', `The body has a member whose name contains ${character}.`);
}

/** @throws Problem `bad_request` that names the field, for a NUL or a lone surrogate in its value */
export function checkText(name: string, text: string): void {
  const character = badCharacterIn(text);
  if (character !== null) throw badCharacters({ [name]: text }, character);
}

function badCharacterIn(text: string): string | null {
  if (text.includes('\0')) return 'a NUL character';
  return /\p{Surrogate}/u.test(text) ? 'a lone surrogate, which is not a character' : null;
}

/** Characters of a member's name that are repeated to the caller. */
const maxNameLength = 64;

/**
 * @param root nested at most `maxNesting` levels deep, and without a bad character in the names of its members
 * @param character the first one, for a body in which no member can be named
 */
function badCharacters(root: unknown, character: string): Problem {
  const faults = new Map<string, FieldFault>();
  if (typeof root === 'object' && !Array.isArray(root)) findBadCharacters(root, '', undefined, faults);
  return faults.size > 0
    ? Problem.ofFields([...faults.values()])
    : new Problem('bad_request', `The body contains ${character}.`);
}

/**
 * @param place of the value within the body, such as `dns_names[1]`
 * @param field of its faults: the place, or the outermost array that it is in; undefined: the value is in no array
 */
function findBadCharacters(
  value: unknown,
  place: string,
  field: string | undefined,
  faults: Map<string, FieldFault>,
): void {
  if (faults.size === maxFaults) return;
  if (typeof value === 'string') {
    const character = badCharacterIn(value);
    const named = field ?? place;
    if (character !== null && !faults.has(named))
      faults.set(named, {
        field: named,
        code: 'invalid_value',
        message: `${place} contains ${character}.`,
      });
  } else if (Array.isArray(value)) {
    for (const [index, each] of value.entries())
      findBadCharacters(each, `${place}[${index}]`, field ?? place, faults);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, each] of Object.entries(value)) {
      // The name of a member is not repeated to the caller when somebody pasted a private key there.
      if (holdsPrivateKey(name)) continue;
      const shown = name.length > maxNameLength ? `${name.slice(0, maxNameLength).toWellFormed()}…` : name;
      findBadCharacters(each, place === '' ? shown : `${place}.${shown}`, field, faults);
    }
  }
}
