import type { DerCursor, DerSpan } from './der-cursor';
import type { Faults } from './faults';

const tags = { objectIdentifier: 0x06, octetString: 0x04 } as const;

/**
 * The supported extensions, by their identifiers: RFC 5280, section 4.2.1; RFC 6962, sections 3.3 and
 * 3.1.
 */
const known = {
  subjectAlternativeName: Buffer.from('551d11', 'hex'),
  authorityKeyIdentifier: Buffer.from('551d23', 'hex'),
  crlDistributionPoints: Buffer.from('551d1f', 'hex'),
  sctList: Buffer.from('2b06010401d679020402', 'hex'),
  poison: Buffer.from('2b06010401d679020403', 'hex'),
} as const;

type KnownExtension = keyof typeof known;

export interface ExtensionList {
  /** The SEQUENCE around all of them; null if absent. */
  readonly list: DerSpan | null;
  /** Contents of their OCTET STRINGs. */
  readonly subjectAlternativeName: readonly DerSpan[];
  readonly authorityKeyIdentifier: readonly DerSpan[];
  /** Of the first one. */
  readonly crlDistributionPoints: DerSpan | null;
  /**
   * The whole poison and SCT list extensions, which are not in the transparency TBSCertificate. In
   * order.
   */
  readonly removed: readonly DerSpan[];
  readonly hasPoison: boolean;
  readonly hasSctList: boolean;
}

export const noExtensions: ExtensionList = Object.freeze({
  list: null,
  subjectAlternativeName: [],
  authorityKeyIdentifier: [],
  crlDistributionPoints: null,
  removed: [],
  hasPoison: false,
  hasSctList: false,
});

/** Iterates over the extensions; of unsupported ones, only the identifiers are read. */
export function listExtensions(cursor: DerCursor, wrapper: DerSpan, faults: Faults): ExtensionList {
  if (!cursor.moveTo(wrapper.start, wrapper.end)) return noExtensions;
  const list = cursor.span();
  const subjectAlternativeName: DerSpan[] = [];
  const authorityKeyIdentifier: DerSpan[] = [];
  let crlDistributionPoints: DerSpan | null = null;
  const removed: DerSpan[] = [];
  let poisons = 0;
  for (let at = list.start, next = at; cursor.moveTo(at, list.end); at = next) {
    const { start, end } = cursor;
    next = cursor.next;
    if (!cursor.moveTo(start, end) || cursor.tag !== tags.objectIdentifier) continue;
    const id = knownExtension(cursor.bytes, cursor.start, cursor.end);
    if (id === undefined) continue;
    if (id === 'subjectAlternativeName' || id === 'authorityKeyIdentifier') {
      const value = valueOf(cursor, end);
      if (id === 'subjectAlternativeName' && value?.isAlone !== true) faults.add('alternative_names');
      if (value === undefined) continue;
      if (id === 'subjectAlternativeName') subjectAlternativeName.push(value);
      else authorityKeyIdentifier.push(value);
      continue;
    }
    if (id === 'crlDistributionPoints') {
      crlDistributionPoints ??= valueOf(cursor, end) ?? null;
      continue;
    }
    if (id === 'poison') poisons++;
    cursor.moveTo(at, list.end);
    removed.push(cursor.span());
  }
  const sctLists = removed.length - poisons;
  if (poisons > 1 || sctLists > 1 || subjectAlternativeName.length > 1 || authorityKeyIdentifier.length > 1)
    faults.add('duplicate_extension');
  const hasPoison = poisons > 0;
  return {
    list,
    subjectAlternativeName,
    authorityKeyIdentifier,
    crlDistributionPoints,
    removed,
    hasPoison,
    hasSctList: sctLists > 0,
  };
}

function knownExtension(bytes: Buffer, start: number, end: number): KnownExtension | undefined {
  const length = end - start;
  if (length === 3) {
    const last = bytes[start + 2];
    if (last === 0x11 && isAt(bytes, start, known.subjectAlternativeName)) return 'subjectAlternativeName';
    if (last === 0x1f && isAt(bytes, start, known.crlDistributionPoints)) return 'crlDistributionPoints';
    if (last === 0x23 && isAt(bytes, start, known.authorityKeyIdentifier)) return 'authorityKeyIdentifier';
  } else if (length === 10) {
    if (isAt(bytes, start, known.sctList)) return 'sctList';
    if (isAt(bytes, start, known.poison)) return 'poison';
  }
  return undefined;
}

function isAt(bytes: Buffer, start: number, expected: Buffer): boolean {
  for (let i = expected.length - 1; i >= 0; i--) if (bytes[start + i] !== expected[i]) return false;
  return true;
}

/**
 * From the identifier to the last element of the extension, after `critical`: the single element in its
 * OCTET STRING.
 */
function valueOf(cursor: DerCursor, end: number): (DerSpan & { readonly isAlone: boolean }) | undefined {
  while (cursor.moveTo(cursor.next, end)) {
    if ((cursor.tag & ~0x20) !== tags.octetString) continue;
    // BER can split strings. A split string with one piece is read like an unsplit one.
    if (cursor.tag !== tags.octetString) cursor.moveTo(cursor.start, cursor.end);
    const stringEnd = cursor.end;
    return cursor.moveTo(cursor.start, stringEnd)
      ? { ...cursor.span(), isAlone: cursor.next === stringEnd }
      : undefined;
  }
  return undefined;
}
