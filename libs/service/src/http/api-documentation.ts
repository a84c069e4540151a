import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Problem } from '@certwright/errors';

/** Swagger UI sets styles on elements and shows icons from data URLs; everything else comes from here. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Files of the package swagger-ui-dist: no other may be asked for. */
const assets: ReadonlyMap<string, string> = new Map([
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['favicon-32x32.png', 'image/png'],
]);

export interface DocumentationPage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

export interface DocumentedApi {
  /** Path of the page, without a slash at its end; its files lie below. */
  readonly docsPath: string;
  readonly title: string;
  /** Called once. @returns the OpenAPI document */
  readonly document: () => Promise<object>;
}

/** Swagger UI with local assets, and the document that it shows. */
export class ApiDocumentation {
  private document: Promise<string> | undefined;

  constructor(private readonly api: DocumentedApi) {}

  page(): DocumentationPage {
    const { docsPath, title } = this.api;
    const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="stylesheet" href="${docsPath}/swagger-ui.css">
<link rel="icon" type="image/png" href="${docsPath}/favicon-32x32.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="${docsPath}/swagger-ui-bundle.js"></script>
<script src="${docsPath}/start.js"></script>
</body>
</html>
`;
    const headers = {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': contentSecurityPolicy,
    };
    return { headers, body };
  }

  /** @throws Problem `not_found` */
  async asset(name: string): Promise<DocumentationPage> {
    if (name === 'openapi.json')
      return { headers: { 'content-type': 'application/json' }, body: await this.text() };
    if (name === 'start.js') return this.start();
    const contentType = assets.get(name);
    if (contentType === undefined) throw new Problem('not_found', 'There is nothing at this address.');
    const folder = path.dirname(require.resolve('swagger-ui-dist/package.json'));
    const headers = { 'content-type': contentType, 'cache-control': 'public, max-age=3600' };
    return { headers, body: await readFile(path.join(folder, name)) };
  }

  private async text(): Promise<string> {
    return await (this.document ??= this.api.document().then((document) => JSON.stringify(document)));
  }

  private start(): DocumentationPage {
    const options = { url: `${this.api.docsPath}/openapi.json`, dom_id: '#swagger-ui', validatorUrl: null };
    const headers = { 'content-type': 'text/javascript; charset=utf-8' };
    return { headers, body: `SwaggerUIBundle(${JSON.stringify(options)});\n` };
  }
}
