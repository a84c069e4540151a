import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { Problem } from '@certwright/errors';
import { html, inlineStyle } from '../html/html';
import { prefersHtml } from './prefers-html';

/** Swagger UI sets styles on elements and shows icons from data URLs; everything else comes from here. */
const swaggerUiPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The files of the package swagger-ui-dist that are served. */
const assetTypes: ReadonlyMap<string, string> = new Map([
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['favicon-32x32.png', 'image/png'],
]);

const rootStyle = inlineStyle(
  'body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}',
);
const rootPolicy =
  `default-src 'none'; style-src ${rootStyle.source}; img-src 'self'; ` +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const htmlType = 'text/html; charset=utf-8';

export interface DocumentationResponse {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

export interface DocumentedApi {
  /** Path of this version of the API, such as `/api/v3`; empty when the API is at the root. */
  readonly path: string;
  /** How callers reach the process; the path in it precedes every link. Default: no path. */
  readonly publicUrl?: string;
  /** Path that says whether the API works. */
  readonly statusPath: string;
  /** Called once. @returns the OpenAPI document, whose `info` also names the API on its pages */
  readonly document: () => object | Promise<object>;
}

interface Info {
  readonly title: string;
  readonly version: string;
  readonly description: string;
}

interface Document {
  readonly info: Info;
  readonly servers?: readonly { readonly url: string }[];
}

/** The paths of the documentation, as routes. */
export function documentationPaths(apiPath: string) {
  const docs = `${apiPath}/docs`;
  return {
    roots: apiPath === '' ? ['/'] : ['/', apiPath],
    docs,
    assets: `${docs}/:asset`,
    openApi: `${apiPath}/openapi.json`,
  };
}

/** What an API says about itself: its root, Swagger UI with local assets, and the OpenAPI document. */
export class ApiDocumentation {
  readonly #links: { readonly docs: string; readonly openApi: string; readonly status: string };
  readonly #assets = new Map<string, Promise<Buffer>>();
  readonly #prefix: string;
  #document: Promise<Document> | undefined;

  constructor(private readonly api: DocumentedApi) {
    const prefix = api.publicUrl === undefined ? '' : new URL(api.publicUrl).pathname.replace(/\/$/, '');
    this.#prefix = prefix;
    const { docs, openApi } = documentationPaths(api.path);
    this.#links = {
      docs: prefix + docs,
      openApi: prefix + openApi,
      status: prefix + api.statusPath,
    };
  }

  /** @param accept the `Accept` header of the request */
  async root(accept: string | undefined): Promise<DocumentationResponse> {
    const { title, version, description } = await this.info();
    const { docs, openApi, status } = this.#links;
    if (!prefersHtml(accept)) {
      const links = { documentation_url: docs, openapi_url: openApi, status_url: status };
      return {
        headers: { 'content-type': 'application/json', vary: 'Accept' },
        body: JSON.stringify({ name: title, version, description, ...links }),
      };
    }
    const { markup } = html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <title>${title}</title>
          <link rel="icon" type="image/png" href="${docs}/favicon-32x32.png" />
          ${rootStyle.element}
        </head>
        <body>
          <h1>${title}</h1>
          <p>${description}</p>
          <p>Version ${version}</p>
          <ul>
            <li><a href="${docs}">Documentation</a></li>
            <li><a href="${openApi}">OpenAPI document</a></li>
            <li><a href="${status}">Status</a></li>
          </ul>
          <p>With <code>Accept: application/json</code> this page is returned as JSON.</p>
        </body>
      </html> `;
    const headers = { 'content-type': htmlType, 'content-security-policy': rootPolicy, vary: 'Accept' };
    return { headers, body: markup };
  }

  async page(): Promise<DocumentationResponse> {
    const { docs } = this.#links;
    const { title } = await this.info();
    const { markup } = html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <title>${title}</title>
          <link rel="stylesheet" href="${docs}/swagger-ui.css" />
          <link rel="icon" type="image/png" href="${docs}/favicon-32x32.png" />
        </head>
        <body>
          <div id="swagger-ui"></div>
          <script src="${docs}/swagger-ui-bundle.js"></script>
          <script src="${docs}/start.js"></script>
        </body>
      </html> `;
    return {
      headers: { 'content-type': htmlType, 'content-security-policy': swaggerUiPolicy },
      body: markup,
    };
  }

  /**
   * @param acceptEncoding the `Accept-Encoding` header of the request
   * @throws Problem `not_found`
   */
  async asset(name: string, acceptEncoding: string | undefined): Promise<DocumentationResponse> {
    if (name === 'openapi.json') return await this.openApi();
    if (name === 'start.js') return this.start();
    const contentType = assetTypes.get(name);
    if (contentType === undefined) throw new Problem('not_found', 'There is nothing at this address.');
    const headers = {
      'content-type': contentType,
      'cache-control': 'public, max-age=3600',
      vary: 'Accept-Encoding',
    };
    const compressed = await this.file(name);
    return acceptsGzip(acceptEncoding)
      ? { headers: { ...headers, 'content-encoding': 'gzip' }, body: compressed }
      : { headers, body: await promisify(gunzip)(compressed) };
  }

  async openApi(): Promise<DocumentationResponse> {
    return {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(await this.document()),
    };
  }

  private async document(): Promise<Document> {
    return await (this.#document ??= this.servedDocument());
  }

  private async servedDocument(): Promise<Document> {
    const document = (await this.api.document()) as Document;
    if (this.#prefix === '') return document;
    const servers = document.servers?.length ? document.servers : [{ url: '/' }];
    return {
      ...document,
      servers: servers.map((server) => ({
        ...server,
        url: `${this.#prefix}${server.url}`.replace(/\/$/, ''),
      })),
    };
  }

  private async info(): Promise<Info> {
    return (await this.document()).info;
  }

  /** Compressed, and kept in memory: requests must not make the process read it again and again. */
  private async file(name: string): Promise<Buffer> {
    const file = this.#assets.get(name) ?? readCompressed(name);
    this.#assets.set(name, file);
    return await file;
  }

  private start(): DocumentationResponse {
    const options = {
      url: this.#links.openApi,
      dom_id: '#swagger-ui',
      deepLinking: true,
      validatorUrl: null,
    };
    const headers = { 'content-type': 'text/javascript; charset=utf-8' };
    return { headers, body: `SwaggerUIBundle(${JSON.stringify(options)});\n` };
  }
}

/** A bundle has compressed copies beside it. */
async function readCompressed(name: string): Promise<Buffer> {
  const beside = path.join(__dirname, 'swagger-ui', `${name}.gz`);
  if (existsSync(beside)) return await readFile(beside);
  const folder = path.dirname(require.resolve('swagger-ui-dist/package.json'));
  return await promisify(gzip)(await readFile(path.join(folder, name)));
}

/** RFC 9110, section 12.5.3; a weight of zero refuses it. */
function acceptsGzip(acceptEncoding = ''): boolean {
  return /(?:^|,)\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[\d.]+\s*)?(?:,|$)/i.test(acceptEncoding);
}
