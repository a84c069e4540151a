type Json = Record<string, unknown>;

/** Members that hold values. */
const valuesIn: Readonly<Record<Kind, ReadonlySet<string>>> = {
  document: new Set(['example', 'examples']),
  schema: new Set(['default', 'enum', 'const', 'example', 'examples']),
  // Its members are names, not keywords.
  schemas: new Set(),
};

/** What OpenAPI 3.0 says with `format`, JSON Schema says with keywords of its own (OpenAPI 3.1.0, section 4.4.2). */
const encodings: Readonly<Record<string, Json>> = {
  byte: { contentEncoding: 'base64' },
  binary: { contentMediaType: 'application/octet-stream' },
};

/**
 * Turns what @nestjs/swagger leaves of OpenAPI 3.0 in a document of version 3.1 into JSON Schema 2020-12. It has replaced
 * `nullable` itself.
 */
export function asJsonSchema2020<D extends object>(document: D): D {
  return converted(document, 'document') as D;
}

type Kind = 'document' | 'schema' | 'schemas';

function converted(node: unknown, kind: Kind): unknown {
  if (Array.isArray(node)) return node.map((each) => converted(each, kind));
  if (typeof node !== 'object' || node === null) return node;
  const members = Object.entries(node).map(([key, value]) => [
    key,
    valuesIn[kind].has(key) ? value : converted(value, kindOf(kind, key)),
  ]);
  const copy = Object.fromEntries(members) as Json;
  return kind === 'schema' ? schema(copy) : copy;
}

function kindOf(kind: Kind, key: string): Kind {
  if (kind === 'schemas') return 'schema';
  if (key === 'schemas' || key === 'properties' || key === 'patternProperties') return 'schemas';
  return kind === 'schema' || key === 'schema' ? 'schema' : 'document';
}

function schema({ example, format, allOf, ...others }: Json): Json {
  // A reference may have members beside it, unlike in OpenAPI 3.0.
  const reference = Array.isArray(allOf) && allOf.length === 1 ? (allOf[0] as Json) : { allOf };
  const encoding = typeof format === 'string' ? encodings[format] : undefined;
  return {
    ...(allOf === undefined ? {} : reference),
    ...others,
    ...(encoding ?? (format === undefined ? {} : { format })),
    ...(example === undefined ? {} : { examples: [example] }),
  };
}
