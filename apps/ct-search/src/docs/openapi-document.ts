import { withExamples } from '@certwright/service';
import { errorExamples, failsAnyway, failsReading, failsWithKey, type Reasons } from './errors';
import { examples } from './examples';
import { type Schema, schemas } from './schemas';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: true;
  readonly description: string;
  readonly schema: Schema;
}

interface Route {
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  /** By media type. */
  readonly answers: Readonly<Record<string, Schema>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** How it fails, besides what every operation like it has. */
  readonly fails?: Reasons;
  /** Whose credentials are needed; absent: an API key or nobody's. */
  readonly access?: 'key' | 'public';
}

const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const json = (schema: Schema) => ({ 'application/json': schema });
const binary: Schema = { type: 'string', contentMediaType: 'application/octet-stream' };
const text: Schema = { type: 'string' };

const query = (name: string, description: string, schema: Schema = text): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
});
const id: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'Of the issuance.',
  schema: { type: 'string', pattern: '^[0-9]+$' },
};
const expand = query(
  'expand',
  'Expandable member to include, repeatable; a nested one with its parent before a dot, as in issuer.caa_domains. Unknown ones are ignored.',
  { type: 'array', items: text },
);
const ifNoneMatch: Parameter = {
  name: 'If-None-Match',
  in: 'header',
  description: 'Answered 304 while the certificate has this ETag.',
  schema: text,
};
const flag = (name: string, description: string): Parameter =>
  query(name, `${description} Default: false.`, { type: 'boolean' });

const pageHeaders = {
  Link: 'On a full page: the address of the next one, rel="next".',
  'Retry-After': 'On an empty page: seconds until the same query is worth repeating.',
};
const issuances = json({ type: 'array', items: ref('Issuance') });

const routes: Readonly<Record<string, Route>> = {
  '/issuances': {
    summary: 'Lists the unexpired issuances of a domain, in the order of discovery',
    description:
      'At most 100 on a page. Pass the id of the last one as after until a page is empty, then again when Retry-After is over.',
    parameters: [
      {
        ...query('domain', 'A registered domain or a name beneath one; U-labels are taken too.'),
        required: true,
      },
      flag('include_subdomains', 'Names beneath the domain as well, at any depth.'),
      flag('match_wildcards', 'Wildcard names that match the domain as well.'),
      query('after', 'Id of the last issuance that is known. Default: none is.'),
      expand,
    ],
    answers: issuances,
    headers: pageHeaders,
    fails: { bad_query: 'A parameter is not valid' },
  },
  '/issuances/firehose': {
    summary: 'Streams every issuance as it is logged',
    description:
      'At most 1,000 on a page. Needs a subscription that includes the firehose. What was discovered more than 24 hours ago is not streamed any more: 410 lagging_client.',
    parameters: [
      query('after', 'Id of the last issuance that is known. Default: what was discovered an hour ago.'),
      expand,
    ],
    answers: issuances,
    headers: pageHeaders,
    fails: {
      bad_query: 'A parameter is not valid',
      not_allowed_by_plan: 'The subscription does not include the firehose',
      lagging_client: 'The cursor is too old; start again without after',
    },
    access: 'key',
  },
  '/issuances/{id}': {
    summary: 'Retrieves one issuance',
    description: 'Also one that has expired, while it is kept.',
    parameters: [id, expand],
    answers: json(ref('Issuance')),
    fails: { not_found: 'No such issuance' },
  },
  '/issuances/{id}.der': {
    summary: 'The certificate if it is known, else the precertificate',
    parameters: [id, ifNoneMatch],
    answers: { 'application/pkix-cert': binary },
    headers: { ETag: 'Names these very octets.' },
    fails: { not_found: 'No such issuance' },
  },
  '/issuances/{id}.pem': {
    summary: 'The same in PEM',
    parameters: [id, ifNoneMatch],
    answers: { 'application/pem-certificate-chain': text },
    headers: { ETag: 'Names these very octets.' },
    fails: { not_found: 'No such issuance' },
  },
  '/status': {
    summary: 'How far each log is followed, and whether any lags',
    answers: json(ref('Status')),
    access: 'public',
  },
  '/openapi.json': { summary: 'This document', answers: json({ type: 'object' }), access: 'public' },
};

const security = {
  key: [{ bearer: [] }, { basic: [] }],
  public: [],
  either: [{ bearer: [] }, { basic: [] }, {}],
} as const;

function operation(
  path: string,
  { summary, description, parameters, answers, headers, fails, access }: Route,
): object {
  const content = Object.entries(answers).map(([type, schema]) => [type, { schema }]);
  const described = Object.entries(headers ?? {}).map(([name, about]) => [
    name,
    { description: about, schema: text },
  ]);
  return {
    operationId: `get${path.replace(/[/{}_.]+(\w?)/g, (_, first: string) => first.toUpperCase())}`,
    summary,
    ...(description === undefined ? {} : { description }),
    security: security[access ?? 'either'],
    ...(parameters === undefined ? {} : { parameters }),
    responses: {
      200: {
        description: 'Success',
        ...(headers === undefined ? {} : { headers: Object.fromEntries(described) as object }),
        content: Object.fromEntries(content) as object,
      },
      ...errorExamples.responses({
        ...fails,
        ...(access === 'public' ? {} : failsWithKey),
        ...(path === '/openapi.json' ? {} : failsReading),
        ...failsAnyway,
      }),
    },
  };
}

/** The OpenAPI document of the search API. */
export function openApiDocument(): object {
  const paths = Object.entries(routes).map(([path, route]) => [path, { get: operation(path, route) }]);
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Certwright: certificate transparency search',
      version: '1',
      description:
        'Certificates that public logs have seen, by the domains they are for. A few queries an hour are answered without an API key.',
    },
    servers: [{ url: '/v1' }],
    paths: Object.fromEntries(paths) as object,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'The API key' },
        basic: {
          type: 'http',
          scheme: 'basic',
          description: 'The API key as user name, with an empty password',
        },
      },
      schemas,
      examples: errorExamples.components(),
    },
  };
  return withExamples(document, examples);
}
