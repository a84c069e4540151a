import { Problem } from '@certwright/errors';

/** @throws Problem `invalid_value` on `Idempotency-Key` */
export function readIdempotencyKey(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  if (typeof header === 'string' && /^[\x21-\x7e]{1,255}$/.test(header)) return header;
  throw new Problem(
    'invalid_value',
    'An Idempotency-Key has 1 to 255 visible ASCII characters, without spaces.',
    {
      field: 'Idempotency-Key',
    },
  );
}

/** Canonical JSON: members sorted by name. The nesting depth is limited when the body is read. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}
