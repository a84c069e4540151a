/** Parameters of RFC 3492, section 5. */
const base = 36;
const tMin = 1;
const tMax = 26;
const skew = 38;
const damp = 700;
const initialBias = 72;
const initialCodePoint = 0x80;

const lastCodePoint = 0x10ffff;

/**
 * Decodes what follows `xn--` (RFC 3492, section 6.2); undefined when it is no Punycode. Takes lower-case LDH text of at
 * most 59 characters, so that no sum here leaves the range of exact integers: 2^21 * 59 is far below 2^53.
 */
export function decodePunycode(encoded: string): string | undefined {
  const delimiter = encoded.lastIndexOf('-');
  const codePoints = Array.from(delimiter > 0 ? encoded.slice(0, delimiter) : '', (character) =>
    character.charCodeAt(0),
  );
  let position = delimiter > 0 ? delimiter + 1 : 0;
  let codePoint = initialCodePoint;
  let bias = initialBias;
  let index = 0;
  while (position < encoded.length) {
    const before = index;
    let weight = 1;
    for (let k = base; ; k += base) {
      const digit = digitAt(encoded, position++);
      if (digit === undefined) return undefined;
      index += digit * weight;
      if (index > lastCodePoint * 64) return undefined;
      const threshold = Math.min(Math.max(k - bias, tMin), tMax);
      if (digit < threshold) break;
      weight *= base - threshold;
    }
    const length = codePoints.length + 1;
    bias = adaptedBias(index - before, length, before === 0);
    codePoint += Math.floor(index / length);
    index %= length;
    if (codePoint > lastCodePoint || isSurrogate(codePoint)) return undefined;
    codePoints.splice(index++, 0, codePoint);
  }
  return String.fromCodePoint(...codePoints);
}

function digitAt(encoded: string, position: number): number | undefined {
  const code = encoded.charCodeAt(position);
  if (code >= 0x61 && code <= 0x7a) return code - 0x61;
  if (code >= 0x30 && code <= 0x39) return code - 0x30 + 26;
  return undefined;
}

function adaptedBias(delta: number, length: number, first: boolean): number {
  let rest = first ? Math.floor(delta / damp) : Math.floor(delta / 2);
  rest += Math.floor(rest / length);
  let k = 0;
  for (; rest > ((base - tMin) * tMax) / 2; k += base) rest = Math.floor(rest / (base - tMin));
  return k + Math.floor(((base - tMin + 1) * rest) / (rest + skew));
}

function isSurrogate(codePoint: number): boolean {
  return codePoint >= 0xd800 && codePoint <= 0xdfff;
}
