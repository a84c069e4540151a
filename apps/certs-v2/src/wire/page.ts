import { IntegerArgument, TextArgument } from './arguments';

/** Entries on one page. Without it there are as many as the maximum. */
export const LimitArgument = (max: number, description = `Maximum number of entries, 1 to ${max}.`) =>
  IntegerArgument(1, max, { description, minimum: 1, maximum: max });

/** Text of a query; an empty one counts as omitted. */
export const QueryArgument = (
  description: string,
  read: (text: string, name: string) => unknown = (t) => t,
) => TextArgument({ description }, (text, name) => (text === '' ? undefined : read(text, name)));

/** `Link` of a page that is not the last one (RFC 8288); it keeps the caller's parameters. */
export function nextPageLink(address: string, query: Readonly<Record<string, unknown>>): string {
  const next = new URLSearchParams();
  for (const [name, values] of Object.entries(query)) {
    for (const value of [values].flat())
      if (typeof value === 'string' && value !== '') next.append(name, value);
  }
  return `<${address}?${next.toString()}>; rel="next"`;
}
