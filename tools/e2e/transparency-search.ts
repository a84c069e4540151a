import { eventually } from '@certwright/testing';

/** Time for logging, ingesting and indexing, on a machine that runs other specs at the same time. */
const loggedWithinMs = 60_000;

/** What start.json contains, as far as searches need it. */
export interface SearchedPlatform {
  readonly apis: Readonly<Record<string, string>>;
  readonly api_key: string;
}

export interface FoundIssuance {
  readonly id: string;
  readonly cert_sha256: string;
  readonly [field: string]: unknown;
}

interface Search {
  readonly domain: string;
  readonly expand: readonly string[];
}

/** The issuance of that certificate, as soon as the search returns it. */
export async function issuanceInSearch(
  { apis, api_key }: SearchedPlatform,
  { domain, expand }: Search,
  certSha256: string,
): Promise<FoundIssuance> {
  const query = new URLSearchParams({ domain });
  for (const field of expand) query.append('expand', field);
  return await eventually(
    async () => {
      const found = await requestOk(`${apis['ct_search']}/v1/issuances?${query}`, api_key);
      const issuances = (await found.json()) as FoundIssuance[];
      const issuance = issuances.find(({ cert_sha256 }) => cert_sha256 === certSha256);
      if (issuance === undefined) throw new Error(`${domain} is not in the search yet`);
      return issuance;
    },
    // The search plan of the sandbox limits the rate.
    { withinMs: loggedWithinMs, everyMs: 500 },
  );
}

/** All pages, up to the empty one with Retry-After. */
export async function firehose({ apis, api_key }: SearchedPlatform) {
  const data: FoundIssuance[] = [];
  for (;;) {
    const after = data.at(-1)?.id ?? '';
    const page = await requestOk(`${apis['ct_search']}/v1/issuances/firehose?after=${after}`, api_key);
    const issuances = (await page.json()) as FoundIssuance[];
    data.push(...issuances);
    if (issuances.length === 0) return { data, after: page.headers.get('retry-after') };
  }
}

async function requestOk(url: string, key: string): Promise<Response> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response;
}
