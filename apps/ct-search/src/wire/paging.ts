import type { StoredIssuance } from '@certwright/ct-index';
import { ReadBy, Unreadable } from '@certwright/service';
import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { expandedNames } from './expansion';

/** An id is a position in the order of discovery: decimal, and fits 63 bits. */
const maxId = 2n ** 63n - 1n;

/** The index counts with 53 bits, which lasts for 100,000 years of today's certificates. */
const aheadOfAll = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * @returns null when no issuance can have this id; an id ahead of every issuance, now and later, may become another such id
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

/** The cursor; null: from the start. @param start what that means, which ends the sentence "Default: …." */
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

/** Seconds that a client who has seen everything waits before the next request. */
const retryAfterS = 300;

/**
 * `Link` (RFC 8288) where a next page may have something: after a full page, and after one that was cut or ended early.
 * `Retry-After` where there was nothing.
 *
 * @param found issuances, of which the first `count` are on the page
 * @param next the same query again, with the parameters that have a meaning only: a header stays short, however long the query was
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
