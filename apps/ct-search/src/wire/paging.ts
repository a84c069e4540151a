import type { StoredIssuance } from '@certwright/ct-index';
import { ReadBy, Unreadable } from '@certwright/service';
import { expandedNames } from '@certwright/issuance-json';
import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';

/** An id is a position in the order of discovery: decimal, max 63 bits. */
const maxId = 2n ** 63n - 1n;

/** The index uses 53 bits, which last for 100,000 years at today's rate. */
const aheadOfAll = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * @returns null when no issuance can have this id; an id after every possible issuance may become another such id
 */
export function readId(text: string): string | null {
  if (!/^\d{1,19}$/.test(text)) return null;
  const position = BigInt(text);
  if (position > maxId) return null;
  return String(position > aheadOfAll ? aheadOfAll : position);
}

function readAfter(value: unknown): string | null | Unreadable {
  if (value === '') return null;
  const id = typeof value === 'string' ? readId(value) : null;
  return id ?? Unreadable.because('It must be the id of an issuance, once.');
}

/** The cursor; null: from the start. @param start the default, which ends the sentence "Default: …." */
export const AfterMember = (start: string): PropertyDecorator =>
  applyDecorators(
    ApiPropertyOptional({
      type: String,
      description: `Id of the last issuance that is known. Default: ${start}.`,
    }),
    ReadBy(readAfter),
  );

/** Parameters of a request for issuances. */
export class ExpandQuery {
  @ApiPropertyOptional({
    type: [String],
    description:
      'Expandable member to include, repeatable; a nested one with its parent before a dot, as in issuer.caa_domains. Unknown ones are ignored.',
  })
  @ReadBy(expandedNames)
  readonly expand: readonly string[] = [];
}

/** Retry-After for a client that is up to date, seconds. */
const retryAfterS = 300;

/**
 * `Link` (RFC 8288) when a next page may have issuances: after a full page, and after one that was truncated or ended early.
 * `Retry-After` after an empty page.
 *
 * @param found issuances, of which the first `count` are on the page
 * @param next the same query with its valid parameters only: the header stays short, however long the query was
 */
export function pageHeaders(
  found: readonly StoredIssuance[],
  count: number,
  mayGoOn: boolean,
  next: { readonly address: string; readonly parameters: object; readonly expand: readonly string[] },
): Readonly<Record<string, string>> {
  const last = found[count - 1];
  if (last === undefined) return { 'retry-after': String(retryAfterS) };
  if (!mayGoOn && count === found.length) return {};
  const query = new URLSearchParams({ ...next.parameters });
  for (const name of next.expand) query.append('expand', name);
  query.append('after', last.position);
  return { link: `<${next.address}?${query.toString()}>; rel="next"` };
}
