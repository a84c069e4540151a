/** What a browser says of where a form was. */
export interface FormOrigin {
  readonly secFetchSite: string | undefined;
  readonly origin: string | undefined;
}

/**
 * Whether a form may have come from our own page. The token in the path already is what no other site knows; this is the
 * second lock. Newer browsers say it in Sec-Fetch-Site. Others say the origin, which is `null` for a page that sends no
 * referrer, as ours; programs say nothing.
 *
 * @param approvalUrl how the public reaches this process
 */
export function isOwnForm({ secFetchSite, origin }: FormOrigin, approvalUrl: string): boolean {
  if (secFetchSite !== undefined) return secFetchSite === 'same-origin';
  return origin === undefined || origin === 'null' || origin === new URL(approvalUrl).origin;
}
