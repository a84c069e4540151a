import type { ValidateFunction } from 'ajv/dist/2020';
import { absolute, schemasOf } from './openapi';

interface Schema {
  readonly $ref?: string;
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** A schema without references and compositions, and the name that its members are reported under. */
interface Part {
  readonly name: string;
  readonly schema: Schema;
}

interface Response {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, Response>>;
}

interface Path {
  readonly pattern: RegExp;
  readonly operations: Readonly<Record<string, Operation>>;
}

/**
 * Statuses with which a service refuses a malformed request before it looks for the operation. Operations need not document
 * them; the body is then that of their other errors.
 */
const refusals: ReadonlySet<number> = new Set([400, 408, 413, 415, 431]);

/** A response with a JSON body. */
export interface JsonResponse {
  readonly method: string;
  /** Path or URL of the request, or the template in the document with its server's path. */
  readonly path: string;
  readonly status: number;
  readonly body: unknown;
}

/**
 * Compares JSON responses with their schemas in an OpenAPI document. A member that the schema does not declare is a
 * difference, unless the schema has `additionalProperties`.
 */
export class DocumentedResponses {
  readonly #schemas: Readonly<Record<string, Schema>>;
  readonly #paths: readonly Path[];
  readonly #ajv: ReturnType<typeof schemasOf>;
  readonly #validators = new Map<Schema, ValidateFunction>();
  /** `Schema.member` */
  readonly #seen = new Set<string>();

  /** @param document OpenAPI 3.1 */
  constructor(document: object) {
    const {
      paths,
      servers = [],
      components: { schemas = {} } = {},
    } = document as {
      readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
      readonly servers?: readonly { readonly url: string }[];
      readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
    };
    const base = (servers[0]?.url ?? '').replace(/\/$/, '');
    this.#schemas = schemas;
    this.#paths = Object.entries(paths)
      .sort(([one], [other]) => parametersIn(one) - parametersIn(other))
      .map(([template, operations]) => ({ pattern: patternOf(base + template), operations }));
    // The specs of the documents check the schemas; here it would take most of the time.
    this.#ajv = schemasOf(document, { isChecked: false });
  }

  /** @returns one line per difference; none when the document does not have an operation of this path */
  differences({ method, path, status, body }: JsonResponse): string[] {
    const operation = this.#operation(method, path);
    if (operation === undefined) return [];
    const { operationId, responses } = operation;
    const where = `${operationId} ${status}`;
    const response = responses[status] ?? (refusals.has(status) ? errorOf(responses) : undefined);
    if (response === undefined) return [`${where}: the status is not documented`];
    const schema = response.content?.['application/json']?.schema;
    if (schema === undefined) return [`${where}: no JSON body is documented`];
    const differences = [...this.#undeclared(this.#parts(schema, where), body, '')];
    const validate = this.#validator(schema);
    if (!validate(body))
      for (const { instancePath, message } of validate.errors ?? [])
        differences.push(`${instancePath} ${message}`.trim());
    return differences.map((difference) => `${where}: ${difference}`);
  }

  /** @returns `Schema.member` of each documented member that no response has had so far */
  absentMembers(): string[] {
    const absent = new Set<string>();
    const visited = new Set<Schema>();
    const visit = (parts: readonly Part[]): void => {
      for (const { name, schema } of parts) {
        if (visited.has(schema)) continue;
        visited.add(schema);
        if (schema.items !== undefined) visit(this.#parts(schema.items, name));
        for (const [member, each] of Object.entries(schema.properties ?? {})) {
          if (!this.#seen.has(`${name}.${member}`)) absent.add(`${name}.${member}`);
          visit(this.#parts(each, `${name}.${member}`));
        }
      }
    };
    for (const { operations } of this.#paths)
      for (const { operationId, responses } of Object.values(operations))
        for (const [status, { content }] of Object.entries(responses))
          visit(this.#parts(content?.['application/json']?.schema ?? {}, `${operationId} ${status}`));
    return [...absent].sort();
  }

  #operation(method: string, path: string): Operation | undefined {
    const [bare = ''] = path.split('?');
    const name = method.toLowerCase();
    return this.#paths.find(({ pattern, operations }) => name in operations && pattern.test(bare))
      ?.operations[name];
  }

  #validator(schema: Schema): ValidateFunction {
    const known = this.#validators.get(schema);
    if (known !== undefined) return known;
    const validator = this.#ajv.compile(absolute(schema));
    this.#validators.set(schema, validator);
    return validator;
  }

  #parts(schema: Schema, name: string): Part[] {
    const { $ref, allOf = [], anyOf = [], oneOf = [] } = schema;
    const referred = $ref?.split('/').at(-1);
    return [
      { name, schema },
      ...(referred === undefined ? [] : this.#parts(this.#schemas[referred] ?? {}, referred)),
      ...[...allOf, ...anyOf, ...oneOf].flatMap((each) => this.#parts(each, name)),
    ];
  }

  *#undeclared(parts: readonly Part[], value: unknown, at: string): Generator<string> {
    if (Array.isArray(value)) {
      const items = parts.flatMap(({ name, schema }) =>
        schema.items === undefined ? [] : this.#parts(schema.items, name),
      );
      for (const [index, each] of value.entries()) yield* this.#undeclared(items, each, `${at}/${index}`);
      return;
    }
    if (typeof value !== 'object' || value === null || parts.some(isOpen)) return;
    for (const [member, each] of Object.entries(value)) {
      const declaring = parts.filter(({ schema }) => Object.hasOwn(schema.properties ?? {}, member));
      for (const { name } of declaring) this.#seen.add(`${name}.${member}`);
      const below = declaring.flatMap(({ name, schema }) =>
        this.#parts(schema.properties?.[member] ?? {}, `${name}.${member}`),
      );
      if (declaring.length > 0) yield* this.#undeclared(below, each, `${at}/${member}`);
      else if (!parts.some(({ schema }) => Boolean(schema.additionalProperties)))
        yield `${at}/${member} is not documented`;
    }
  }
}

const errorOf = (responses: Operation['responses']): Response | undefined =>
  Object.entries(responses).find(([status]) => Number(status) >= 400)?.[1];

const parametersIn = (template: string): number => template.split('{').length;

/** `/orders/{name}` matches itself and `/orders/a`, with or without a host. */
function patternOf(template: string): RegExp {
  const literals = template.split(/\{\w+\}/).map((literal) => literal.replace(/[.*+?^$()|[\]\\]/g, '\\$&'));
  return new RegExp(`^(?:https?://[^/]+)?${literals.join('[^/]+')}$`);
}

/** Says nothing about the value: `{}`. */
function isOpen({ schema: { $ref, type, properties, allOf, anyOf, oneOf } }: Part): boolean {
  return [$ref, type, properties, allOf, anyOf, oneOf].every((keyword) => keyword === undefined);
}
