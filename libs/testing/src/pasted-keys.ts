import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { ReceivedResponse } from './http-exchange';

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

interface Parameter {
  readonly in: string;
  readonly name: string;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

/** What is needed of an API's OpenAPI document. */
export interface ApiDocument {
  readonly servers?: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, object>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> };
}

/** A request with a private key in one place. */
export interface PastedKeyRequest {
  /** Operation, place and spelling of the key. */
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface PastingOptions {
  /** Values of path parameters; `1` for every other. */
  readonly path?: Readonly<Record<string, string>>;
  /** By operation (`post /orders`): members of a valid body, one of which the key replaces in turn. */
  readonly bodies?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const base64Of = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'der' }).toString('base64');
const keys = [
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
  generateKeyPairSync('ed25519').privateKey,
];

/** The spellings in which a private key is pasted. */
const spellings: readonly (readonly [string, string])[] = keys.flatMap((key) => {
  const pem = String(key.export({ type: 'pkcs8', format: 'pem' }));
  const kind = key.asymmetricKeyType ?? '';
  return [
    [`${kind} PEM`, pem],
    [`${kind} PEM with \\n`, pem.replaceAll('\n', '\\n')],
    [`${kind} PEM on one line`, pem.replaceAll('\n', '')],
    [`${kind} base64`, base64Of(key)],
    [`${kind} base64url`, base64Of(key).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')],
    [`${kind} base64 in a text`, `Here is my key: ${base64Of(key)} Thanks!`],
    [`${kind} base64 in JSON`, JSON.stringify({ note: 'the key', data: base64Of(key) })],
  ] as const;
});

const pieceLength = 20;
/** Only these can hold a piece. */
const base64Runs = /[\w+/=-]{20,}/g;
const pieces: ReadonlySet<string> = new Set(
  keys.flatMap((key) => {
    const text = base64Of(key);
    const url = text.replaceAll('+', '-').replaceAll('/', '_');
    return [text, url].flatMap((each) =>
      Array.from({ length: each.length - pieceLength + 1 }, (_, at) => each.slice(at, at + pieceLength)),
    );
  }),
);

/** The first piece of a pasted key, 20 characters of its base64, that the text holds; null: none. */
export function pastedKeyIn(text: string): string | null {
  for (const form of [
    text,
    text.replace(/\\+[nr/]|\s/g, ''),
    text.replace(/%2B/gi, '+').replace(/%2F/gi, '/'),
  ]) {
    for (const [run] of form.matchAll(base64Runs)) {
      for (let at = 0; at + pieceLength <= run.length; at += 1) {
        const piece = run.slice(at, at + pieceLength);
        if (pieces.has(piece)) return piece;
      }
    }
  }
  return null;
}

/**
 * Sends requests one by one.
 *
 * @param logged lines of the log, emptied after each request
 * @returns responses that hold a piece of a pasted key or have a status of 500 or more, and requests after which the log
 *   does
 */
export async function leaksOf(
  requests: readonly PastedKeyRequest[],
  send: (request: PastedKeyRequest) => Promise<Pick<ReceivedResponse, 'status' | 'headers' | 'text'>>,
  logged: string[],
): Promise<string[]> {
  const leaks: string[] = [];
  for (const request of requests) {
    const { status, text, headers } = await send(request);
    const piece = pastedKeyIn(text) ?? pastedKeyIn(JSON.stringify(headers));
    if (piece !== null || status >= 500) leaks.push(`${status} ${request.what}: ${text}`);
    if (logged.some((line) => pastedKeyIn(line) !== null)) leaks.push(`log: ${request.what}`);
    logged.length = 0;
  }
  return leaks;
}

/** Every place of every documented operation, with a private key in each of its spellings. */
export function pastedKeyRequests(document: ApiDocument, options: PastingOptions = {}): PastedKeyRequest[] {
  const base = (document.servers?.[0]?.url ?? '').replace(/\/$/, '');
  return Object.entries(document.paths).flatMap(([template, operations]) =>
    Object.entries(operations as Readonly<Record<string, Operation>>).flatMap(([method, operation]) => {
      const plain = { method: method.toUpperCase(), headers: {} };
      const name = `${method} ${template}`;
      const fill = (values: Readonly<Record<string, string>>): string =>
        base + template.replace(/\{(\w+)\}/g, (_, each: string) => encodeURIComponent(values[each] ?? '1'));
      const path = fill(options.path ?? {});
      return spellings.flatMap(([spelling, text]) => {
        const named = (place: string, request: Partial<PastedKeyRequest>): PastedKeyRequest => ({
          what: `${name}, ${place}: ${spelling}`,
          path,
          ...plain,
          ...request,
        });
        return [
          ...(operation.parameters ?? []).flatMap((parameter) => {
            const place = `${parameter.in} ${parameter.name}`;
            if (parameter.in === 'path')
              return [named(place, { path: fill({ ...options.path, [parameter.name]: text }) })];
            if (parameter.in === 'query')
              return [named(place, { path: `${path}?${parameter.name}=${encodeURIComponent(text)}` })];
            return text.includes('\n') ? [] : [named(place, { headers: { [parameter.name]: text } })];
          }),
          named('a query parameter of its name', { path: `${path}?${encodeURIComponent(text)}=1` }),
          named('the path after it', { path: `${path}/${encodeURIComponent(text)}` }),
          ...(text.includes('\n')
            ? []
            : ['authorization', 'x-request-id', 'accept', 'content-type'].map((header) =>
                named(header, {
                  headers: { [header]: header === 'authorization' ? `Bearer ${text}` : text },
                }),
              )),
          ...bodiesWith(document, operation, options.bodies?.[name] ?? {}, text).map(([place, type, body]) =>
            named(place, { headers: { 'content-type': type }, body }),
          ),
        ];
      });
    }),
  );
}

type Body = readonly [place: string, type: string, body: string];

const formType = 'application/x-www-form-urlencoded';

function bodiesWith(
  document: ApiDocument,
  { requestBody }: Operation,
  valid: Readonly<Record<string, unknown>>,
  text: string,
): readonly Body[] {
  return Object.entries(requestBody?.content ?? {}).flatMap(([type, { schema }]): readonly Body[] => {
    const members = valuesWith(document, schema, text);
    if (type === formType) {
      const form = (member: string, value: string): string =>
        new URLSearchParams({ ...(valid as Record<string, string>), [member]: value }).toString();
      return [
        ...members.map(([place, member, value]): Body => {
          const given = typeof value === 'string' ? value : JSON.stringify(value);
          return [`form member ${place}`, type, form(member, given)];
        }),
        ['the name of a form member', type, form(text, '1')],
      ];
    }
    return [
      ...members.map(([place, member, value]): Body => [
        `member ${place}`,
        type,
        JSON.stringify({ ...valid, [member]: value }),
      ]),
      ['the name of a member', type, JSON.stringify({ ...valid, [text]: 1 })],
      ['the body', type, JSON.stringify(text)],
      ['a body that is no JSON', type, `{"a": ${text}`],
      ['a body that is an array', type, JSON.stringify([text])],
    ];
  });
}

/** Each member of an object of the schema, with the key in it or in a member below it. */
function valuesWith(
  document: ApiDocument,
  schema: Schema,
  text: string,
  depth = 0,
): readonly (readonly [place: string, member: string, value: unknown])[] {
  const { properties = {} } = flat(document, schema);
  return Object.entries(properties).flatMap(([member, given]) => {
    const below = flat(document, given);
    const inner = depth < 3 ? valuesWith(document, below, text, depth + 1) : [];
    const items =
      below.items === undefined || depth >= 3 ? [] : valuesWith(document, below.items, text, depth + 1);
    return [
      [member, member, text] as const,
      [`${member}[]`, member, [text]] as const,
      [`${member}{}`, member, { [text]: text }] as const,
      ...inner.map(([place, name, value]) => [`${member}.${place}`, member, { [name]: value }] as const),
      ...items.map(([place, name, value]) => [`${member}[].${place}`, member, [{ [name]: value }]] as const),
    ];
  });
}

function flat(document: ApiDocument, schema: Schema): Schema {
  const referred = schema.$ref?.split('/').at(-1);
  const known = referred === undefined ? undefined : document.components?.schemas?.[referred];
  const all = [schema, ...(known === undefined ? [] : [known as Schema])];
  const parts = all.flatMap(({ allOf = [], anyOf = [], oneOf = [] }) => [...allOf, ...anyOf, ...oneOf]);
  const each = [...all, ...parts.map((part) => flat(document, part))];
  return {
    properties: Object.assign({}, ...each.map(({ properties }) => properties)) as Record<string, Schema>,
    items: each.find(({ items }) => items !== undefined)?.items,
  };
}
