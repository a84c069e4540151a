import 'reflect-metadata';
import { openApiDocument } from './docs/openapi-document';

/** Prints the OpenAPI document; `npm run openapi` writes it to openapi.json. */
void openApiDocument().then((document) => process.stdout.write(`${JSON.stringify(document, null, 2)}\n`));
