import {
  type CredentialKind,
  type CredentialMember,
  type GatewayDescription,
  type GatewayError,
  type GatewayMessages,
  type Integrated,
  type IntegrationOwner,
  type ProviderDescription,
  providerNames,
  recordTypes,
  type WantedRecord,
  type Zone,
} from '@certwright/gateway-contract';

/** JSON Schema, as OpenAPI 3.1 takes it. */
export type Schema = Readonly<Record<string, unknown>>;

/** A schema for each member of a type: one that is added to it is added here. */
type Members<T> = Readonly<Record<keyof T, Schema>>;

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const text = (description: string, more: Schema = {}): Schema => ({ type: 'string', description, ...more });
const textOrNull = (description: string): Schema => ({ type: ['string', 'null'], description });
const flag = (description: string): Schema => ({ type: 'boolean', description });
const listOf = (items: Schema, description: string): Schema => ({ type: 'array', items, description });

function object<T>(members: Members<T>, optional: readonly (keyof T)[] = []): Schema {
  const required = Object.keys(members).filter((name) => !optional.includes(name as keyof T));
  return { type: 'object', properties: members, ...(required.length === 0 ? {} : { required }) };
}

/** What a request may have nothing beside. */
const closed = (schema: Schema): Schema => ({ ...schema, additionalProperties: false });

const owner: Members<IntegrationOwner> = {
  account: text('Account of the platform.', { pattern: '^[\\x21-\\x7e]{1,128}$' }),
  integration_id: text('Chosen by the caller before the integration is made.', {
    pattern: '^[A-Za-z0-9_-]{1,64}$',
  }),
  provider: text('Provider of the integration.', { enum: providerNames }),
};
const integrated: Members<Integrated> = { ...owner, integration: text('The integration handle.') };

const resealed = text(
  'A new integration handle, which the caller stores in place of the old one: the credentials changed, or the key that sealed it is retiring.',
);

type Request<E extends keyof GatewayMessages> = GatewayMessages[E]['request'];
type Answer<E extends keyof GatewayMessages> = GatewayMessages[E]['answer'];

const requests = {
  MakeIntegration: closed(object<Request<'make_integration'>>({ ...owner, credentials: ref('Credentials') })),
  GetZones: closed(object<Request<'get_zones'>>(integrated)),
  AddRecord: closed(object<Request<'add_record'>>({ ...integrated, record: ref('Record') })),
  RemoveRecord: closed(
    object<Request<'remove_record'>>({
      ...integrated,
      record_handle: text('What add_record answered: that record and no other is removed.'),
    }),
  ),
  Record: closed(
    object<WantedRecord>(
      {
        fqdn: text(
          'The owner name, absolute with or without its dot, as in _acme-challenge.www.example.com.',
        ),
        type: text('No other type is ever touched.', { enum: recordTypes }),
        value: text(
          'TXT: the text itself, without quotes, printable ASCII, at most 512 octets. CAA: 0 issue "ca.example" (RFC 8659, section 4.1.1). CNAME, NS: the name of the target.',
        ),
        ttl: {
          ...{ type: 'integer', minimum: 30, maximum: 3_600 },
          description: 'Seconds. Default: what the provider takes, at least 60.',
        },
        replace: flag(
          'Afterwards it is the only one of these types at its name. Default: true for CNAME and NS, false for TXT and CAA.',
        ),
      },
      ['ttl', 'replace'],
    ),
  ),
  Credentials: {
    description:
      'Members beside the type are texts and differ by provider: description lists them. Those that are sealed to its encryption_key can be read by nobody in between.',
    oneOf: [
      {
        ...{ type: 'object', required: ['type'], additionalProperties: { type: 'string' } },
        properties: {
          type: text(
            'bearer: a secret that the customer made at the provider. oauth_code: what the provider sent the browser back with. cloud_account: the account that the customer opened to the own one of the operator.',
            { enum: ['bearer', 'oauth_code', 'cloud_account'] },
          ),
        },
      },
      {
        ...{ type: 'object', required: ['type', 'jwe'], additionalProperties: false },
        properties: {
          type: { const: 'sealed' },
          jwe: text(
            'Compact JWE (RFC 7516) with ECDH-ES+A256KW and A256GCM over account, provider, credentials and issued_at (Unix time, seconds); valid for ten minutes.',
          ),
        },
      },
    ],
  },
};

const answers = {
  Integration: object<Answer<'make_integration'>>({ integration: text('The integration handle.') }),
  Zones: object<Answer<'get_zones'>>(
    { zones: listOf(ref('Zone'), 'That the credentials may change.'), integration: resealed },
    ['integration'],
  ),
  Zone: object<Zone>({
    id: text('Of the provider, opaque.'),
    name: text('Lower case, A-labels, no dot at the end.'),
  }),
  Added: object<Answer<'add_record'>>(
    { record_handle: text('With which the record can be removed.'), integration: resealed },
    ['integration'],
  ),
  Removed: object<Answer<'remove_record'>>({ integration: resealed }, ['integration']),
  Description: object<GatewayDescription>({
    encryption_key: {
      ...{ type: 'object', additionalProperties: { type: 'string' } },
      description: 'JSON Web Key (RFC 7517) that credentials are sealed to.',
    },
    providers: listOf(ref('Provider'), 'All that the gateway knows.'),
  }),
  Provider: object<ProviderDescription>({
    name: text('As integrations carry it.', { enum: providerNames }),
    title: text('For people.'),
    advice: text('Least privilege: what to allow, and what not.'),
    credentials: listOf(
      ref('CredentialKind'),
      'Ways of giving them; none where the operator has not set up what the provider needs.',
    ),
  }),
  CredentialKind: object<CredentialKind>({
    type: text('Of credentials.', { enum: ['bearer', 'oauth_code', 'cloud_account'] }),
    members: listOf(ref('CredentialMember'), 'To be filled in.'),
    authorization_url: textOrNull(
      'Of oauth_code: where the browser of the customer is sent; the caller appends its own state. Else null.',
    ),
    principal: textOrNull('Of cloud_account: whom the customer lets in. Else null.'),
    external_id: textOrNull('Of cloud_account: the external id to demand of it. Else null.'),
  }),
  CredentialMember: object<CredentialMember>({
    name: text('Of the member.'),
    meaning: text('For people.'),
    secret: flag('Not to be shown again.'),
    required: flag('Credentials without it are refused.'),
  }),
  Error: object<GatewayError>(
    {
      code: text('docs/errors.md lists every code.'),
      message: text('For people.'),
      field: text('Member of the request that is at fault.'),
      sub_errors: listOf(
        object<NonNullable<GatewayError['sub_errors']>[number]>({
          field: text('Member of the request.'),
          code: text('As above.'),
          message: text('For people.'),
        }),
        'Where several members are at fault: each of them.',
      ),
      integration: resealed,
    },
    ['field', 'sub_errors', 'integration'],
  ),
};

/** By the names under which the document refers to them. */
export const schemas: Readonly<Record<string, Schema>> = { ...requests, ...answers };
