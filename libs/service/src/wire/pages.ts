import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { ReadBy, Unreadable } from '../validation/read-members';
import type { HttpResponse } from './http-response';

/** Objects on one page, unless `limit` is smaller. */
export const maxPageSize = 100;

/** `@Limit() limit = maxPageSize`: objects on one page. */
export const Limit = () =>
  applyDecorators(
    ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: maxPageSize, default: maxPageSize }),
    ReadBy((value) => {
      if (value === '') return maxPageSize;
      const limit = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : NaN;
      if (Number.isNaN(limit)) return Unreadable.because('It must be one whole number.');
      if (limit >= 1 && limit <= maxPageSize) return limit;
      return new Unreadable([{ code: 'out_of_range', message: `It must be from 1 to ${maxPageSize}.` }]);
    }),
  );

/**
 * `@After(…) after: string | null = null`: the object before the page; null: the first page.
 *
 * @param isName whether the value can name an object
 */
export const After = (isName: (text: string) => boolean, description: string) =>
  applyDecorators(
    ApiPropertyOptional({ type: String, description }),
    ReadBy((value) => {
      if (value === '') return null;
      if (typeof value === 'string' && isName(value)) return value;
      return Unreadable.because('It must be the value in the Link header of the previous page.');
    }),
  );

/** `@Expand([…]) expand: readonly string[] = []`: members that are absent unless they are named. */
export const Expand = (...members: readonly string[]) =>
  applyDecorators(
    ApiPropertyOptional({
      type: 'array',
      items: { type: 'string', enum: [...members] },
      description: 'May be repeated. Unknown names are ignored.',
    }),
    ReadBy((value) => [value].flat().filter((name) => typeof name === 'string' && name !== '')),
  );

/** A page of a list, as the caller requests it. */
export interface PageRequest {
  readonly after: string | null;
  readonly limit: number;
  readonly expand?: readonly string[];
}

/**
 * The rows of a page, and a `Link` to the next one (RFC 8288) with the parameters of this one.
 *
 * @param found up to one row more than the page holds, which shows that there is a next page
 * @param nameOf what `after` of the next page is
 */
export function pageOf<Row>(
  found: readonly Row[],
  request: PageRequest,
  path: string,
  nameOf: (row: Row) => string,
): { readonly rows: readonly Row[]; readonly headers: HttpResponse['headers'] } {
  const rows = found.slice(0, request.limit);
  const last = rows.at(-1);
  if (found.length <= request.limit || last === undefined) return { rows, headers: {} };
  return { rows, headers: { link: nextPageLink(path, nameOf(last), request) } };
}

function nextPageLink(path: string, after: string, { limit, expand = [] }: PageRequest): string {
  const query = new URLSearchParams({ after });
  if (limit !== maxPageSize) query.set('limit', String(limit));
  for (const name of expand) query.append('expand', name);
  return `<${path}?${query.toString()}>; rel="next"`;
}
