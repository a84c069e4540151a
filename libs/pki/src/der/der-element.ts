import { DerError } from './der-error';
import { checkPrimitive, isPrimitiveUniversal, tags } from './der-primitives';

export type TagClass = 'universal' | 'application' | 'context' | 'private';

export interface DerElement {
  readonly tagClass: TagClass;
  readonly tagNumber: number;
  readonly constructed: boolean;
  /** Bytes from the start of the parsed DER to this element's tag. */
  readonly offset: number;
  /** Tag, length and content: the input of digests and signatures. A view, not a copy. */
  readonly raw: Uint8Array;
  readonly content: Uint8Array;
  /** Empty for a primitive element. */
  readonly children: readonly DerElement[];
}

export interface DerLimits {
  readonly maxBytes: number;
  /** Elements inside elements. */
  readonly maxDepth: number;
  /** Elements of all depths together. */
  readonly maxElements: number;
}

/**
 * Allows a certificate or request with hundreds of names: RFC 5280 structures nest about 9 deep, and 100 names of 253
 * bytes are 26 KiB in 130 elements.
 */
const defaultDerLimits: DerLimits = { maxBytes: 64 * 1024, maxDepth: 16, maxElements: 4096 };

const tagClasses: readonly TagClass[] = ['universal', 'application', 'context', 'private'];

/** Remaining budget of one parse; every element decrements it, so that work is bounded by `maxElements`. */
interface Budget {
  elements: number;
  readonly maxDepth: number;
}

/**
 * Reads one element that is the whole input, and its content, by the Distinguished Encoding Rules (X.690, sections 8,
 * 10 and 11). Throws DerError for anything else: a value has exactly one accepted encoding.
 */
export function parseDer(bytes: Uint8Array, limits: DerLimits = defaultDerLimits): DerElement {
  if (bytes.length > limits.maxBytes)
    throw new DerError(`more than ${limits.maxBytes} bytes`, limits.maxBytes);
  const budget: Budget = { elements: limits.maxElements, maxDepth: limits.maxDepth };
  const element = readElement(bytes, 0, bytes.length, 1, budget);
  if (element.raw.length !== bytes.length) {
    throw new DerError('bytes follow after the end of the structure', element.raw.length);
  }
  return element;
}

function readElement(
  bytes: Uint8Array,
  offset: number,
  end: number,
  depth: number,
  budget: Budget,
): DerElement {
  if (depth > budget.maxDepth) throw new DerError(`elements nest deeper than ${budget.maxDepth}`, offset);
  if (budget.elements-- <= 0) throw new DerError('too many elements', offset);
  const identifier = byteAt(bytes, offset, end);
  const tagNumber = identifier & 0x1f;
  // X.690, section 8.1.2.4: tag numbers from 31 need more bytes. No structure of X.509 or PKCS #10 has one.
  if (tagNumber === 0x1f) throw new DerError('a tag number above 30', offset);
  const tagClass = tagClasses[identifier >> 6] ?? 'universal';
  const constructed = (identifier & 0x20) !== 0;
  const { length, start } = readLength(bytes, offset + 1, end);
  if (length > end - start) throw new DerError('an element ends after the structure around it', offset);
  const content = bytes.subarray(start, start + length);
  const head = {
    tagClass,
    tagNumber,
    constructed,
    offset,
    raw: bytes.subarray(offset, start + length),
    content,
  };
  if (tagClass === 'universal') checkUniversal(tagNumber, constructed, content, offset);
  if (!constructed) return { ...head, children: [] };
  const children = readChildren(bytes, start, start + length, depth + 1, budget);
  if (tagClass === 'universal' && tagNumber === tags.set) checkSetOrder(children);
  return { ...head, children };
}

function readChildren(
  bytes: Uint8Array,
  start: number,
  end: number,
  depth: number,
  budget: Budget,
): DerElement[] {
  const children: DerElement[] = [];
  for (let at = start; at < end;) {
    const child = readElement(bytes, at, end, depth, budget);
    children.push(child);
    at += child.raw.length;
  }
  return children;
}

/** X.690, section 10.1: definite form, in the minimum number of bytes. */
function readLength(bytes: Uint8Array, offset: number, end: number): { length: number; start: number } {
  const first = byteAt(bytes, offset, end);
  if (first < 0x80) return { length: first, start: offset + 1 };
  if (first === 0x80) throw new DerError('an indefinite length', offset);
  const count = first & 0x7f;
  // Four bytes already encode lengths far above any limit, and stay exact integers.
  if (count > 4) throw new DerError('a length of more than four bytes', offset);
  let length = 0;
  for (let i = 1; i <= count; i++) length = length * 256 + byteAt(bytes, offset + i, end);
  if (length < 0x80 || length < 256 ** (count - 1))
    throw new DerError('a length that is not minimal', offset);
  return { length, start: offset + 1 + count };
}

function byteAt(bytes: Uint8Array, offset: number, end: number): number {
  const byte = offset < end ? bytes[offset] : undefined;
  if (byte === undefined) throw new DerError('the structure is cut off', offset);
  return byte;
}

function checkUniversal(tagNumber: number, constructed: boolean, content: Uint8Array, offset: number): void {
  if (tagNumber === tags.sequence || tagNumber === tags.set) {
    if (!constructed) throw new DerError('a SEQUENCE or SET that is not constructed', offset);
    return;
  }
  if (!isPrimitiveUniversal(tagNumber))
    throw new DerError(`a universal type ${tagNumber} that has no place here`, offset);
  // X.690, section 10.2: strings are not cut into pieces.
  if (constructed) throw new DerError('a constructed encoding of a primitive type', offset);
  checkPrimitive(tagNumber, content, offset);
}

/**
 * X.690, section 11.6: the elements of a SET OF ascend by their encodings. Every SET of X.509 and PKCS #10 is a SET
 * OF.
 */
function checkSetOrder(children: readonly DerElement[]): void {
  for (const [index, child] of children.entries()) {
    const before = children[index - 1];
    // Encodings include their length, so none is a prefix of another and plain comparison is sufficient.
    if (before !== undefined && Buffer.compare(before.raw, child.raw) > 0) {
      throw new DerError('the elements of a SET OF are not in ascending order', child.offset);
    }
  }
}
