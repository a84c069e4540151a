// @ts-check
// Source maps with the lines of our own sources only: Node.js reads a map at each start, and with columns and npm
// packages it is twenty times as large.

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** @type {Uint8Array} by character code */
const valueOf = new Uint8Array(128);
for (let value = 0; value < digits.length; value++) valueOf[digits.charCodeAt(value)] = value;

/**
 * @typedef {{ version: number, sources: string[], mappings: string }} SourceMap names and sources' content are left out
 */

/**
 * @param {SourceMap} map as esbuild writes it: every segment has a source
 * @param {(source: string) => boolean} isOwn
 * @returns {SourceMap}
 */
export function ownPositions({ version, sources, mappings }, isOwn) {
  /** @type {number[]} old index → new index, -1: left out */
  const places = [];
  /** @type {string[]} */
  const kept = [];
  for (const source of sources) places.push(isOwn(source) ? kept.push(source) - 1 : -1);
  let [source, line] = [0, 0];
  let [keptSource, keptLine] = [0, 0];
  const lines = mappings.split(';').map((text) => {
    let [generated, keptGenerated, isMapped] = [0, 0, false];
    let result = '';
    for (const segment of text === '' ? [] : text.split(',')) {
      const fields = decode(segment);
      generated += fields[0] ?? 0;
      source += fields[1] ?? 0;
      line += fields[2] ?? 0;
      const place = fields.length > 1 ? (places[source] ?? -1) : -1;
      // One unmapped segment ends a run of mapped ones, and one mapped segment begins a line: columns are left out.
      if (place < 0 && !isMapped) continue;
      if (isMapped && place === keptSource && line === keptLine) continue;
      if (result !== '') result += ',';
      result += encode(generated - keptGenerated);
      keptGenerated = generated;
      isMapped = place >= 0;
      if (!isMapped) continue;
      result += encode(place - keptSource) + encode(line - keptLine) + encode(0);
      [keptSource, keptLine] = [place, line];
    }
    return result;
  });
  return { version, sources: kept, mappings: lines.join(';') };
}

/**
 * Base64 VLQ: five bits a digit, the lowest first; the lowest bit of a number is its sign.
 * @param {string} text
 */
function decode(text) {
  const numbers = [];
  let [value, shift] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const digit = valueOf[text.charCodeAt(at)] ?? 0;
    value |= (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    numbers.push(value & 1 ? -(value >>> 1) : value >>> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}

/** @param {number} number */
function encode(number) {
  let rest = number < 0 ? (-number << 1) | 1 : number << 1;
  let text = '';
  do {
    const digit = rest & 31;
    rest >>>= 5;
    text += digits[rest > 0 ? digit | 32 : digit];
  } while (rest > 0);
  return text;
}
