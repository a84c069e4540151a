import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Problem } from '@certwright/errors';
import { Injectable } from '@nestjs/common';
import { Addresses } from '../wire/addresses';
import { type Answer, jsonAnswer } from '../wire/answer';
import { openApiDocument } from './openapi-document';

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

/** Swagger UI with local assets. */
@Injectable()
export class Documentation {
  private document: Promise<object> | undefined;

  constructor(private readonly addresses: Addresses) {}

  page(): Answer {
    const { docs } = this.addresses;
    const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Certwright: orders</title>
<link rel="stylesheet" href="${docs}/swagger-ui.css">
<link rel="icon" type="image/png" href="${docs}/favicon-32x32.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="${docs}/swagger-ui-bundle.js"></script>
<script src="${docs}/start.js"></script>
</body>
</html>
`;
    const headers = {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': contentSecurityPolicy,
    };
    return { status: 200, headers, body };
  }

  /** @throws Problem `not_found` */
  async asset(name: string): Promise<Answer> {
    if (name === 'openapi.json') return jsonAnswer(200, await (this.document ??= openApiDocument()));
    if (name === 'start.js') return this.start();
    const contentType = assets.get(name);
    if (contentType === undefined) throw new Problem('not_found', 'There is nothing at this address.');
    const folder = path.dirname(require.resolve('swagger-ui-dist/package.json'));
    const headers = { 'content-type': contentType, 'cache-control': 'public, max-age=3600' };
    return { status: 200, headers, body: await readFile(path.join(folder, name)) };
  }

  private start(): Answer {
    const options = { url: `${this.addresses.docs}/openapi.json`, dom_id: '#swagger-ui', validatorUrl: null };
    const headers = { 'content-type': 'text/javascript; charset=utf-8' };
    return { status: 200, headers, body: `SwaggerUIBundle(${JSON.stringify(options)});\n` };
  }
}
