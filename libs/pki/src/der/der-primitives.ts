import { isUtf8 } from 'node:buffer';
import { DerError } from './der-error';

/** Universal tag numbers (X.680, section 8.6) that X.509 and PKCS #10 use. */
export const tags = {
  boolean: 1,
  integer: 2,
  bitString: 3,
  octetString: 4,
  null: 5,
  objectIdentifier: 6,
  enumerated: 10,
  utf8String: 12,
  sequence: 16,
  set: 17,
  numericString: 18,
  printableString: 19,
  teletexString: 20,
  ia5String: 22,
  utcTime: 23,
  generalizedTime: 24,
  visibleString: 26,
  universalString: 28,
  bmpString: 30,
} as const;

type PrimitiveTag = Exclude<(typeof tags)[keyof typeof tags], 16 | 17>;

/** Bytes of an OBJECT IDENTIFIER; the longest one registered for anything read here has 11. */
const maxObjectIdentifierBytes = 64;

/** Content rules of DER by type: undefined when valid, else the error. */
const rules = {
  [tags.boolean]: (content) =>
    content.length === 1 && (content[0] === 0x00 || content[0] === 0xff)
      ? undefined
      : 'a BOOLEAN that is neither 00 nor FF',
  [tags.integer]: minimalInteger,
  [tags.enumerated]: minimalInteger,
  [tags.bitString]: bitString,
  [tags.octetString]: anything,
  [tags.null]: (content) => (content.length === 0 ? undefined : 'a NULL with content'),
  [tags.objectIdentifier]: objectIdentifier,
  [tags.utf8String]: (content) => (isUtf8(content) ? undefined : 'a UTF8String that is not UTF-8'),
  [tags.numericString]: (content) => ofCharacters(content, /^[0-9 ]*$/, 'NumericString'),
  // Wider than X.680, section 41.4, by the * & @ _ that much software writes into names.
  [tags.printableString]: (content) =>
    ofCharacters(content, /^[A-Za-z0-9 '()+,\-./:=?*&@_]*$/, 'PrintableString'),
  [tags.teletexString]: anything,
  [tags.ia5String]: (content) => ofCharacters(content, /^[\0-\x7f]*$/, 'IA5String'),
  [tags.visibleString]: (content) => ofCharacters(content, /^[\x20-\x7e]*$/, 'VisibleString'),
  [tags.utcTime]: (content) => ofCharacters(content, /^[0-9]{12}Z$/, 'UTCTime'),
  [tags.generalizedTime]: (content) =>
    ofCharacters(content, /^[0-9]{14}(?:\.[0-9]*[1-9])?Z$/, 'GeneralizedTime'),
  [tags.universalString]: (content) =>
    content.length % 4 === 0 ? undefined : 'a UniversalString of a broken length',
  [tags.bmpString]: (content) => (content.length % 2 === 0 ? undefined : 'a BMPString of a broken length'),
} satisfies Record<PrimitiveTag, (content: Uint8Array) => string | undefined>;

export function isPrimitiveUniversal(tagNumber: number): tagNumber is PrimitiveTag {
  return Object.hasOwn(rules, tagNumber);
}

export function checkPrimitive(tagNumber: PrimitiveTag, content: Uint8Array, offset: number): void {
  const fault = rules[tagNumber](content);
  if (fault !== undefined) throw new DerError(fault, offset);
}

function anything(): undefined {
  return undefined;
}

/** X.690, section 8.3.2: the first nine bits are neither all zero nor all one. */
function minimalInteger(content: Uint8Array): string | undefined {
  const [first, second] = content;
  if (first === undefined) return 'an INTEGER without content';
  if (second === undefined) return undefined;
  const padded = (first === 0x00 && second < 0x80) || (first === 0xff && second >= 0x80);
  return padded ? 'an INTEGER that is not minimal' : undefined;
}

/** X.690, sections 8.6.2 and 11.2.1: at most seven unused bits, and those are zero. */
function bitString(content: Uint8Array): string | undefined {
  const [unused, ...some] = content.subarray(0, 2);
  if (unused === undefined || unused > 7 || (unused > 0 && some.length === 0)) {
    return 'a BIT STRING with a wrong count of unused bits';
  }
  const last = content.length > 1 ? (content.at(-1) ?? 0) : 0;
  return (last & ((1 << unused) - 1)) === 0 ? undefined : 'a BIT STRING whose unused bits are not zero';
}

/** X.690, section 8.19.2: arcs in base 128, without a leading zero digit, the last one complete. */
function objectIdentifier(content: Uint8Array): string | undefined {
  if (content.length === 0 || content.length > maxObjectIdentifierBytes)
    return 'an OBJECT IDENTIFIER of a wrong length';
  if ((content.at(-1) ?? 0x80) >= 0x80) return 'an OBJECT IDENTIFIER that is cut off';
  const padded = content.some(
    (byte, index) => byte === 0x80 && (index === 0 || (content[index - 1] ?? 0) < 0x80),
  );
  return padded ? 'an OBJECT IDENTIFIER that is not minimal' : undefined;
}

function ofCharacters(content: Uint8Array, allowed: RegExp, type: string): string | undefined {
  return allowed.test(latin1(content)) ? undefined : `a ${type} with characters that the type does not have`;
}

export function latin1(content: Uint8Array): string {
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('latin1');
}
