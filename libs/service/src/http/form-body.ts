import { Problem } from '@certwright/errors';
import { checkText, decodeUtf8 } from './json-body';

/** Fields in one form. Hashing and checking each has a price, and 256 KiB could hold a hundred thousand. */
const mostFields = 1_000;

/**
 * `application/x-www-form-urlencoded` as the URL standard has it. A field that comes once is a string, one that comes
 * several times an array of strings in their order.
 *
 * @throws Problem `bad_request`
 */
export function parseFormBody(bytes: Uint8Array): Record<string, string | string[]> {
  const text = decodeUtf8(bytes);
  checkEncoding(text);
  const fields = new Map<string, string | string[]>();
  let count = 0;
  for (const [name, value] of new URLSearchParams(text)) {
    count += 1;
    if (count > mostFields) throw new Problem('bad_request', `The body has more than ${mostFields} fields.`);
    if (name === '__proto__') throw new Problem('bad_request', 'The body has a field named __proto__.');
    checkText(name);
    checkText(value);
    const earlier = fields.get(name);
    if (earlier === undefined) fields.set(name, value);
    else if (Array.isArray(earlier)) earlier.push(value);
    else fields.set(name, [earlier, value]);
  }
  return Object.fromEntries(fields);
}

/** `URLSearchParams` replaces what it cannot decode, and different names would become one. */
function checkEncoding(text: string): void {
  try {
    decodeURIComponent(text);
  } catch {
    throw new Problem('bad_request', 'The body holds a percent-encoding that is not UTF-8.');
  }
}
