import { openApiDocument } from './docs/openapi-document';

/** Prints the OpenAPI document; `npm run openapi` keeps it as openapi.json. */
process.stdout.write(`${JSON.stringify(openApiDocument(), null, 2)}\n`);
