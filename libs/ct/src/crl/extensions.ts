import type { DerCursor, DerSpan } from '../reading/der-cursor';

export interface CrlExtension {
  /** Lower-case hexadecimal of the bytes of the OBJECT IDENTIFIER. */
  readonly id: string;
  readonly critical: boolean;
  /** Content of the OCTET STRING. */
  readonly value: DerSpan;
}

const tags = { boolean: 0x01, octetString: 0x04, objectIdentifier: 0x06, sequence: 0x30 } satisfies Record<
  string,
  number
>;

/** Known OIDs have 3. */
const maxIdLength = 32;

/** Max extensions of a list or entry. Those of public CAs have five; further ones are not read. */
export const maxExtensions = 64;

/** @param around element that contains the SEQUENCE of extensions */
export function readExtensions(cursor: DerCursor, around: Pick<DerSpan, 'start' | 'end'>): CrlExtension[] {
  const extensions: CrlExtension[] = [];
  if (!cursor.moveTo(around.start, around.end) || cursor.tag !== tags.sequence) return extensions;
  const { start, end } = cursor;
  for (let at = start; extensions.length < maxExtensions && cursor.moveTo(at, end);) {
    at = cursor.next;
    const extension = readExtension(cursor, cursor.start, cursor.end);
    if (extension !== null) extensions.push(extension);
  }
  return extensions;
}

function readExtension(cursor: DerCursor, start: number, end: number): CrlExtension | null {
  if (!cursor.moveTo(start, end) || cursor.tag !== tags.objectIdentifier) return null;
  const id = cursor.bytes.toString('hex', cursor.start, Math.min(cursor.end, cursor.start + maxIdLength));
  let critical = false;
  while (cursor.moveTo(cursor.next, end)) {
    if (cursor.tag === tags.boolean) critical = cursor.end > cursor.start && cursor.bytes[cursor.start] !== 0;
    if (cursor.tag === tags.octetString) return { id, critical, value: cursor.span() };
  }
  return null;
}
