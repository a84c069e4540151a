import type { ReceivedResponse } from './http-exchange';
import { faultsInOpenApi } from './openapi';

/** The rules of `openapi.json`, as a suite that the spec of every API runs. */
export function describeDocument(kept: object, written: () => Promise<unknown>): void {
  it('keeps openapi.json in line with the code', async () => {
    expect(JSON.parse(JSON.stringify(await written()))).toEqual(kept);
  });

  it('is valid OpenAPI 3.1, with a valid example of every body', async () => {
    expect(await faultsInOpenApi(kept)).toEqual([]);
  });
}

export interface ServedDocumentation {
  /** Path of the API, such as `/api/v3`. */
  readonly root: string;
  /** `openapi.json`. */
  readonly kept: object;
  /** `content-type` of its responses. */
  readonly mediaType: string;
  /** What the API says of itself, besides `documentation_url` and `openapi_url`. */
  readonly about: Readonly<Record<string, string>> & { readonly status_url: string };
}

/** The rules of the pages of an API, as a suite that the spec of every API runs while the API does. */
export function describeServedDocumentation(
  get: (path: string) => Promise<Pick<ReceivedResponse, 'status' | 'headers' | 'text' | 'json'>>,
  { root, kept, mediaType, about }: ServedDocumentation,
): void {
  it('shows Swagger UI, with every file from here', async () => {
    const page = await get(`${root}/docs`);
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => String(file));
    expect(files).toHaveLength(4);
    for (const file of files) {
      expect(file.startsWith(`${root}/docs/`)).toBe(true);
      expect((await get(file)).status).toBe(200);
    }
  });

  it.each(['package.json', '..%2fpackage.json', 'constructor'])('has no file %s', async (file) => {
    expect((await get(`${root}/docs/${file}`)).status).toBe(404);
  });

  it.each([`${root}/docs/openapi.json`, `${root}/openapi.json`])('serves the document at %s', async (at) => {
    expect((await get(at)).json).toEqual(kept);
  });

  it.each(['/', root, `${root}/`])('describes the API at %s, without a key', async (at) => {
    const { status, headers, json } = await get(at);
    expect([status, headers['content-type']]).toEqual([200, mediaType]);
    const links = { documentation_url: `${root}/docs`, openapi_url: `${root}/openapi.json` };
    expect(json).toEqual({ ...about, ...links });
    for (const link of [...Object.values(links), about.status_url])
      expect((await get(link)).status).toBe(200);
  });
}

/** `GET /certs/:cn` of every route that Fastify prints, `instance.printRoutes({ commonPrefix: false })`. */
export function printedRoutes(tree: string): string[] {
  const stack: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', part = '', methods = ''] =
      /^([\s│]*)[├└]── (\S*)(?: \(([A-Z, ]+)\))?/.exec(line) ?? [];
    if (part === '') return [];
    stack.length = indent.length / 4;
    stack.push(part);
    const at = stack.join('').replace(/\/{2,}/g, '/');
    return methods.split(', ').map((method) => `${method} ${at}`);
  });
}
