import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type AnySchema } from 'ajv/dist/2020';

type Json = Readonly<Record<string, unknown>>;

interface MediaType {
  readonly schema?: Json;
  readonly examples?: Readonly<Record<string, { readonly value?: unknown; readonly $ref?: string }>>;
}

interface Bodies {
  readonly content?: Readonly<Record<string, MediaType>>;
}

interface Operation {
  readonly operationId: string;
  readonly requestBody?: Bodies;
  readonly responses: Readonly<Record<string, Bodies>>;
}

/** An example in an OpenAPI document. */
export interface DocumentedExample {
  readonly operationId: string;
  /** `POST`. */
  readonly method: string;
  readonly path: string;
  /** Of the response; null for the request. */
  readonly status: number | null;
  readonly mediaType: string;
  readonly name: string;
  readonly value: unknown;
}

/** Bodies whose examples are values that a schema describes. */
const structured = new Set(['application/json', 'application/x-www-form-urlencoded']);

/**
 * Checks a document against OpenAPI 3.1 and its schemas against JSON Schema 2020-12, strictly: no unknown keyword, so
 * nothing of OpenAPI 3.0 either. Every JSON or form body needs an example, and every example must be valid.
 *
 * @returns what is wrong, one line each
 */
export async function faultsInOpenApi(document: object): Promise<string[]> {
  const faults: string[] = [];
  const { openapi } = document as { readonly openapi?: unknown };
  if (typeof openapi !== 'string' || !openapi.startsWith('3.1.'))
    faults.push(`openapi is ${String(openapi)}`);
  const { valid, errors } = await new Validator().validate(structuredClone(document) as Json);
  if (!valid) faults.push(`OpenAPI 3.1: ${JSON.stringify(errors)}`);

  const ajv = schemasOf(document);
  /** What is wrong with a value, or with the schema itself; null: nothing. */
  const faultOf = (schema: Json, value?: { readonly example: unknown }): string | null => {
    try {
      const validate = ajv.compile(absolute(schema));
      return value === undefined || validate(value.example) ? null : ajv.errorsText(validate.errors);
    } catch (error) {
      return (error as Error).message;
    }
  };
  for (const [pointer, schema] of allSchemas(document)) {
    const fault = faultOf(schema);
    if (fault !== null) faults.push(`${pointer}: ${fault}`);
    for (const example of (schema['examples'] as unknown[] | undefined) ?? [])
      if (faultOf(schema, { example }) !== null) faults.push(`${pointer}: an example is not valid`);
  }
  for (const { where, mediaType, media } of bodiesOf(document)) {
    const examples = Object.entries(media.examples ?? {});
    if (structured.has(mediaType) && examples.length === 0) faults.push(`${where}: no example`);
    for (const [name, example] of examples) {
      const fault = faultOf(media.schema ?? {}, { example: valueOf(document, example) });
      if (fault !== null) faults.push(`${where}, example ${name}: ${fault}`);
    }
  }
  return faults;
}

export function examplesIn(document: object): DocumentedExample[] {
  return bodiesOf(document).flatMap(({ operationId, method, path, status, mediaType, media }) =>
    Object.entries(media.examples ?? {}).map(([name, example]) => ({
      ...{ operationId, method, path, status, mediaType, name },
      value: valueOf(document, example),
    })),
  );
}

/** The names of members, at any depth; of a list those of its first element. */
export function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== 'object' || value === null) return null;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shapeOf(each)]));
}

function valueOf(document: object, { value, $ref }: { readonly value?: unknown; readonly $ref?: string }) {
  if ($ref === undefined) return value;
  const [, ...keys] = $ref.split('/');
  const found = keys.reduce<unknown>((node, key) => (node as Json | undefined)?.[key], document);
  return (found as { readonly value?: unknown } | undefined)?.value;
}

function bodiesOf(document: object) {
  const { paths } = document as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { operationId, requestBody, responses }]) => {
      const bodies: [status: number | null, body: Bodies][] = Object.entries(responses).map(
        ([status, response]) => [Number(status), response],
      );
      if (requestBody !== undefined) bodies.unshift([null, requestBody]);
      return bodies.flatMap(([status, { content = {} }]) =>
        Object.entries(content).map(([mediaType, media]) => ({
          ...{ operationId, method: method.toUpperCase(), path, status, mediaType, media },
          where: `${operationId} ${status ?? 'request'} ${mediaType}`,
        })),
      );
    }),
  );
}

const documentId = 'https://example.com/openapi.json';

/** References within the document are those of the schemas that are registered under its address. */
export function schemasOf(document: object, { isChecked = true } = {}): Ajv2020 {
  const ajv = new Ajv2020({
    validateSchema: isChecked,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    validateFormats: false,
    allErrors: true,
  });
  // Ajv knows it for the sake of OpenAPI 3.0.
  ajv.removeKeyword('nullable');
  const { schemas = {} } =
    (document as { readonly components?: { readonly schemas?: Json } }).components ?? {};
  for (const [name, schema] of Object.entries(schemas))
    ajv.addSchema(absolute(schema) as AnySchema, `${documentId}/${name}`);
  return ajv;
}

/** With `#/components/schemas/Name` as the address under which that schema is registered. */
export function absolute<T>(schema: T): T {
  const text = JSON.stringify(schema).replaceAll('"#/components/schemas/', `"${documentId}/`);
  return JSON.parse(text) as T;
}

/** Every Schema Object of the document, by its place. */
function allSchemas(node: unknown, pointer = ''): [pointer: string, schema: Json][] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, value]): [string, Json][] => {
    const at = `${pointer}/${key}`;
    if (key === 'examples' || key === 'example') return [];
    if (key === 'schema') return [[at, value as Json]];
    if (at === '/components/schemas')
      return Object.entries(value as Readonly<Record<string, Json>>).map(([name, schema]) => [
        `${at}/${name}`,
        schema,
      ]);
    return allSchemas(value, at);
  });
}
