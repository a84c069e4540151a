import { Problem } from '@certwright/errors';
import { checkName, checkText, decodeUtf8 } from './json-body';

/** Maximum number of fields. Hashing and checking each costs time, and 256 KiB could hold 100,000. */
const maxFields = 1_000;

/**
 * `application/x-www-form-urlencoded` as the URL standard has it. A field that occurs once is a string; a repeated
 * field is an array of strings in order.
 *
 * @throws Problem `bad_request`
 */
export function parseFormBody(bytes: Uint8Array): Record<string, string | string[]> {
  const text = decodeUtf8(bytes);
  checkEncoding(text);
  checkCount(text);
  const fields = new Map<string, string | string[]>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (name === '__proto__') throw new Problem('bad_request', 'The body has a field named __proto__.');
    checkName(name);
    checkText(name, value);
    const earlier = fields.get(name);
    if (earlier === undefined) fields.set(name, value);
    else if (Array.isArray(earlier)) earlier.push(value);
    else fields.set(name, [earlier, value]);
  }
  return Object.fromEntries(fields);
}

/** Before they are parsed: `URLSearchParams` takes half a second for 100,000, in which no other request is served. */
function checkCount(text: string): void {
  let count = 0;
  for (const _ of text.matchAll(/[^&]+/g))
    if ((count += 1) > maxFields)
      throw new Problem('bad_request', `The body has more than ${maxFields} fields.`);
}

/** `URLSearchParams` replaces bytes that it cannot decode, so different names could become the same. */
function checkEncoding(text: string): void {
  try {
    decodeURIComponent(text);
  } catch {
    throw new Problem('bad_request', 'The body contains a percent-encoding that is not UTF-8.');
  }
}
