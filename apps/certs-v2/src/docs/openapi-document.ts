import { withExamples } from '@certwright/service';
import { type DocumentedReason, errorExamples, errorResponses } from './errors';
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
  /** Names of arguments, each with its schema; form or JSON. */
  readonly takes?: Readonly<Record<string, Schema>>;
  readonly answers: Schema;
  /** Reasons by which it fails, besides those of every operation like it. */
  readonly fails?: readonly DocumentedReason[];
  /** Answered to anybody. */
  readonly open?: true;
  readonly html?: true;
}

const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const dataOf = (name: string): Schema => ({
  type: 'object',
  properties: { data: { type: 'array', items: ref(name) } },
});
const query = (name: string, description: string, schema: Schema = { type: 'string' }): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
});
const inPath = (name: string, description: string): Parameter => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string' },
});
const text: Schema = { type: 'string' };
const flag: Schema = { type: 'boolean' };

const cn = inPath('CN', 'Common name, percent-encoded.');
const expand = query('expand', 'Expandable members to include; nested by dots; repeatable.', {
  type: 'array',
  items: text,
});
const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'For 24 hours a repetition with the same key and body gets the same answer.',
  schema: text,
};
const poll = query('poll', 'Seconds to wait for an instance that is pending, at most 180.', {
  type: 'integer',
});
const paged = [
  query('after', 'The last one of the page before.'),
  query('limit', 'At most so many.', { type: 'integer' }),
];

const routes: Readonly<Record<string, Readonly<Partial<Record<'get' | 'post', Route>>>>> = {
  '/certs': {
    get: {
      fails: ['bad_param'],
      summary: 'Lists the certificate objects by common name',
      description: 'All that the account has; with limit a page, whose Link header leads to the next one.',
      parameters: [
        expand,
        query('tag', 'Only objects with this tag.'),
        query('after', 'Common name after which the list begins.'),
        query('limit', 'At most so many, 1 to 1,000.', { type: 'integer', minimum: 1, maximum: 1_000 }),
      ],
      answers: dataOf('CertObject'),
    },
  },
  '/certs/{CN}': {
    get: {
      fails: ['bad_cn'],
      summary: 'Retrieves an object; also one that does not exist',
      parameters: [cn, expand],
      answers: ref('CertObject'),
    },
    post: {
      fails: [
        'bad_cn',
        'bad_bitsize',
        'bad_csr',
        'bad_country',
        'bad_curve',
        'bad_keytype',
        'bad_sans',
        'bad_tags',
        'bad_type',
        'bad_approval_method',
        'bad_approver_email',
        'missing_param',
        'bad_param',
        'product_unavailable',
        'too_many_certs',
      ],
      summary: 'Creates or updates an object',
      description:
        'For a new object csr and approval_method are required. Only what is sent changes. Instances stay as they are.',
      parameters: [cn, expand, idempotencyKey],
      takes: {
        csr: { ...text, description: 'PEM PKCS#10 with the common name in CN and a country in C.' },
        approval_method: { ...text, enum: ['email', 'http', 'dns'] },
        approver_email: { type: ['string', 'null'] },
        type: { ...text, enum: ['dv', 'ev'] },
        sans: {
          type: ['array', 'null', 'string'],
          items: ref('San'),
          description: 'In a form: JSON, or the text null.',
        },
        auto_renew: flag,
        muted: flag,
        tags: { type: ['array', 'string'], items: text, description: 'In a form: JSON.' },
        'tags.TAGNAME': { ...text, enum: ['0', '1'], description: '1 adds the tag TAGNAME, 0 removes it.' },
      },
      answers: ref('CertObject'),
    },
  },
  '/certs/{CN}/buy': {
    post: {
      fails: [
        'no_such_cert',
        'bad_csr',
        'bad_param',
        'payment_required',
        'already_pending',
        'product_unavailable',
      ],
      summary: 'Buys a certificate for one year',
      parameters: [cn, expand, idempotencyKey],
      takes: {
        invoice_note: text,
        email_invoice_to: { ...text, format: 'email' },
      },
      answers: ref('Instance'),
    },
  },
  '/certs/{CN}/reissue': {
    post: {
      fails: [
        'no_such_cert',
        'bad_csr',
        'payment_required',
        'inactive_cert',
        'imported_instance',
        'already_pending',
        'product_unavailable',
      ],
      summary: 'Issues anew within what was bought',
      description: 'Needs an active instance and takes its expiry. Names that are added are charged for.',
      parameters: [cn, expand, idempotencyKey],
      answers: ref('Instance'),
    },
  },
  '/certs/{CN}/redo_approval': {
    post: {
      fails: ['no_such_cert', 'no_pending_instance'],
      summary: 'Starts the approval of the pending instance again',
      description:
        'Emails are sent again, at most every ten minutes and five a day to one address; earlier 429 with retry_after.',
      parameters: [cn, expand],
      answers: ref('Instance'),
    },
  },
  '/certs/{CN}/revoke': {
    post: {
      fails: ['no_such_cert', 'bad_param'],
      summary: 'Revokes every instance but the active one, or all',
      parameters: [cn],
      takes: { all: flag },
      answers: ref('RevokeResult'),
    },
  },
  '/certs/{CN}/test': {
    get: {
      fails: ['no_such_cert', 'bad_param', 'inactive_cert'],
      summary: 'Tests what servers serve',
      parameters: [
        cn,
        query('hostname', 'Host name or address; repeatable. Default: every host name of the certificate.', {
          type: 'array',
          items: text,
        }),
        query('port', 'Default 443.', { type: 'integer' }),
      ],
      answers: { type: 'object', properties: { result: { type: 'array', items: ref('TestResult') } } },
    },
  },
  '/certs/{CN}/instances': {
    get: {
      fails: ['no_such_cert', 'bad_param'],
      summary: 'Lists the instances, the newest first',
      parameters: [cn, expand, ...paged],
      answers: dataOf('Instance'),
    },
    post: {
      fails: ['no_such_cert', 'missing_param', 'bad_certificate', 'already_imported'],
      summary: 'Imports a certificate that was issued elsewhere',
      parameters: [cn, expand, idempotencyKey],
      takes: {
        crt: { ...text, description: 'PEM.' },
        chain: { type: ['array', 'string'], items: text, description: 'PEM; the first issued crt.' },
      },
      answers: ref('Instance'),
    },
  },
  '/certs/{CN}/instances/{INSTANCE_ID}': {
    get: {
      fails: ['no_such_cert', 'no_such_instance', 'no_such_pubkey_hash', 'bad_param', 'not_ready'],
      summary: 'Retrieves an instance, by id or by its key',
      description:
        'The key is addressed as pubkey_hash:HASH. Polled while still pending: 412 not_ready with retry_after.',
      parameters: [
        cn,
        inPath('INSTANCE_ID', 'Id, or pubkey_hash: and the SHA-256 of the DER public key.'),
        poll,
        expand,
      ],
      answers: ref('Instance'),
    },
  },
  '/utils/parse_crt': {
    post: {
      fails: ['missing_param', 'bad_certificate'],
      summary: 'Parses a certificate; nothing is stored',
      takes: { crt: { ...text, description: 'PEM.' } },
      answers: ref('ParsedCertificate'),
    },
  },
  '/pricing': {
    get: {
      fails: ['missing_param', 'bad_cn', 'bad_sans', 'bad_type', 'product_unavailable'],
      summary: 'Tells what a certificate costs',
      parameters: [
        query('cn', 'Common name.'),
        query('custom_sans', 'Whether the names of san are taken in place of default SANs.', flag),
        query('san', 'Repeatable.', { type: 'array', items: text }),
        query('type', 'dv or ev; default dv.'),
      ],
      answers: ref('Pricing'),
    },
  },
  '/products/{type}': {
    get: {
      fails: ['missing_param', 'bad_cn', 'bad_type', 'bad_param', 'product_unavailable'],
      summary: 'Price and approval of a product for one name, for clients up to version 1.7',
      parameters: [
        inPath('type', 'dv or ev.'),
        query('cn', 'Common name.'),
        query('sans', 'How many further names there are; without it and wildcard_sans default SANs.', {
          type: 'integer',
        }),
        query('wildcard_sans', 'How many further wildcard names there are.', { type: 'integer' }),
      ],
      answers: ref('ProductOffer'),
    },
  },
  '/products/{type}/approval': {
    get: {
      fails: ['missing_param', 'bad_cn', 'bad_type', 'product_unavailable'],
      summary: 'Tells how a name can be approved',
      parameters: [inPath('type', 'dv or ev.'), query('cn', 'The name.')],
      answers: ref('ApprovalWays'),
    },
  },
  '/config_templates': {
    get: { summary: 'Lists configuration templates', open: true, answers: { type: 'object' } },
  },
  '/config_templates/{name}': {
    get: {
      fails: ['template_not_found'],
      summary: 'Retrieves a configuration template',
      open: true,
      parameters: [
        inPath('name', 'nginx, for instance.'),
        expand,
        query('include_security_settings', 'Whether recommended settings stand in it.', flag),
      ],
      answers: { type: 'object' },
    },
  },
  '/latest_client_version': {
    get: {
      fails: ['not_found'],
      summary: 'The newest version of the command-line client, never older than the one that asks',
      open: true,
      answers: { type: 'object' },
    },
  },
  '/api_credentials': {
    get: {
      summary: 'The API key of whoever signs in with user name and password',
      answers: { type: 'object' },
    },
  },
  '/account': {
    get: {
      summary: 'The account, its balance, and its part of distinguished names',
      answers: ref('Account'),
    },
    post: {
      fails: ['bad_country', 'bad_param'],
      summary: 'Changes the distinguished name that CSRs are made with, and which mails are sent',
      takes: {
        country: text,
        state: text,
        locality: text,
        organization: text,
        mail_when_issued: flag,
        mail_when_revoked: flag,
      },
      answers: ref('Account'),
    },
  },
  '/invoices': {
    get: {
      fails: ['bad_param'],
      summary: 'Lists invoices, the newest first',
      parameters: paged,
      answers: dataOf('Invoice'),
    },
  },
  '/invoices/{number}': {
    get: {
      fails: ['no_such_invoice'],
      summary: 'Retrieves an invoice; with .html behind the number a page to print',
      parameters: [inPath('number', 'Number of the invoice.')],
      answers: ref('Invoice'),
    },
  },
};

/** Reasons by which every operation like this one fails. */
function failsAnyway(method: string, { open, parameters = [] }: Route): readonly DocumentedReason[] {
  return [
    ...(open ? [] : (['bad_credentials', 'unauthorized', 'rate_limited', 'service_outage'] as const)),
    ...(method === 'post' ? (['bad_request', 'request_too_large', 'unsupported_media_type'] as const) : []),
    ...(parameters.includes(idempotencyKey)
      ? (['bad_param', 'idempotency_key_in_use', 'idempotency_key_reused'] as const)
      : []),
    'internal_error',
  ];
}

function operation(path: string, method: string, route: Route): object {
  const { summary, description, parameters = [], takes, answers, open } = route;
  const body = takes === undefined ? undefined : { type: 'object', properties: takes };
  return {
    operationId: `${method}${path.replace(/[/{}_.]+(\w?)/g, (_, first: string) => first.toUpperCase())}`,
    summary,
    ...(description === undefined ? {} : { description }),
    ...(open ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            content: {
              'application/x-www-form-urlencoded': { schema: body },
              'application/json': { schema: body },
            },
          },
        }),
    responses: {
      200: { description: 'Success', content: { 'application/json': { schema: answers } } },
      ...errorResponses([...(route.fails ?? []), ...failsAnyway(method, route)]),
    },
  };
}

/** The OpenAPI document of the certificate API. */
export function openApiDocument(): object {
  const paths = Object.entries(routes).map(([path, methods]) => {
    const operations = Object.entries(methods).map(([method, route]) => [
      method,
      operation(path, method, route),
    ]);
    return [path, Object.fromEntries(operations)];
  });
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Certwright: certificates',
      version: '2',
      description: 'Certificate objects keyed by common name, and their instances.',
    },
    servers: [{ url: '/api/v2' }],
    security: [{ basic: [] }, { bearer: [] }],
    paths: Object.fromEntries(paths) as object,
    components: {
      securitySchemes: {
        basic: {
          type: 'http',
          scheme: 'basic',
          description: 'The API key as user name with an empty password, or user name and password',
        },
        bearer: { type: 'http', scheme: 'bearer', description: 'The API key' },
      },
      schemas,
      examples: errorExamples.components(),
    },
  };
  return withExamples(document, examples);
}
