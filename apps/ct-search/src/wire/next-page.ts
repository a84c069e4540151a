/**
 * `Link` of a page that others may follow (RFC 8288). The next one asks for the same, in as many words as mean something: a
 * header stays short, however long the query was.
 *
 * @param address without a query
 * @param after id of the last issuance on the page
 */
export function nextPageLink(
  address: string,
  parameters: Readonly<Record<string, string>>,
  expanded: readonly string[],
  after: string,
): string {
  const query = new URLSearchParams(parameters);
  for (const name of expanded) query.append('expand', name);
  query.append('after', after);
  return `<${address}?${query.toString()}>; rel="next"`;
}
