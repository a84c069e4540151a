import 'reflect-metadata';
import { openApiDocument } from './docs/openapi-document';

/** Prints the OpenAPI document; `npm run openapi` keeps it as openapi.json. */
void openApiDocument().then((document) => process.stdout.write(`${JSON.stringify(document, null, 2)}\n`));
