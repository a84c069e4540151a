/** JSON Schema, as OpenAPI 3.1 takes it. */
export type Schema = Readonly<Record<string, unknown>>;

const text = (description: string): Schema => ({ type: 'string', description });
const textOrNull = (description: string): Schema => ({ type: ['string', 'null'], description });
const flag = (description: string): Schema => ({ type: 'boolean', description });
const integer = (description: string): Schema => ({ type: 'integer', description });
const listOf = (items: Schema, description: string): Schema => ({ type: 'array', items, description });
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const object = (properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
});

const approvalMethod: Schema = { type: 'string', enum: ['email', 'http', 'dns'] };
const approvalMethodOrNull: Schema = { type: ['string', 'null'], enum: ['email', 'http', 'dns', null] };
const seconds = (description: string): Schema => ({
  type: ['integer', 'null'],
  description: `${description} UNIX time in seconds.`,
});
const sha256 = 'SHA-256, lower-case hex.';

const approvalMembers = {
  approval_method: approvalMethod,
  approver_email: text('Present if and only if approval_method is email.'),
  dns_approval: {
    ...ref('DnsApproval'),
    description: 'Present if and only if approval_method is dns.',
  },
  http_approval: {
    ...ref('HttpApproval'),
    description: 'Present if and only if approval_method is http.',
  },
};

export const schemas: Readonly<Record<string, Schema>> = {
  CertObject: object(
    {
      exists: flag('Whether the account has a certificate of this common name.'),
      cn: text('Common name, in lower case.'),
      wildcard: flag('Whether the common name begins with *.'),
      dn: { type: 'object', additionalProperties: { type: 'string' }, description: 'For making a CSR.' },
      auto_renew: flag('Renewed by itself before it expires.'),
      muted: flag('No reminders are sent.'),
      ...approvalMembers,
      approval_method: approvalMethodOrNull,
      type: { type: ['string', 'null'], enum: ['dv', 'ev', null] },
      sans: { type: ['array', 'null'], items: ref('San'), description: 'Null: default SANs.' },
      default_san: { ...ref('San'), description: 'Only while sans is null: the name that is added.' },
      tags: listOf({ type: 'string' }, 'In the order in which they were given.'),
      csr: text('Expandable. PEM.'),
      pubkey_hash: textOrNull(`Of the DER public key of the CSR. ${sha256}`),
      current_download: textOrNull('Address of the current certificate and its chain; needs no credentials.'),
      current: { anyOf: [ref('Instance'), { type: 'null' }], description: 'Expandable.' },
      pending: { anyOf: [ref('Instance'), { type: 'null' }], description: 'Expandable.' },
      billed_through: seconds('End of the term that was bought.'),
      subscription_ending: flag(
        'True when no term is running, or a reissue cannot outlast the active instance: buy to renew. False: reissue.',
      ),
    },
    ['exists', 'cn', 'wildcard', 'dn', 'auto_renew', 'muted', 'approval_method', 'type', 'sans', 'tags'],
  ),
  San: object({ type: { const: 'dns' }, value: text('Host name.'), ...approvalMembers }, ['type', 'value']),
  DnsApproval: object({
    options: listOf(
      object({
        name: text('With a dot at the end.'),
        type: text('CNAME or NS.'),
        value: text('As it stands.'),
      }),
      'Any one of them approves the name.',
    ),
    status: { ...object({ ready: flag('Whether it is in place.') }), description: 'Expandable.' },
  }),
  HttpApproval: object({
    path_prefixes: listOf({ type: 'string' }, 'Paths that the web server is to redirect.'),
    redirect_to: text('What the request path is appended to.'),
    status: { ...object({ ready: flag('Whether it is in place.') }), description: 'Expandable.' },
  }),
  Instance: object(
    {
      id: integer('Unique.'),
      state: { type: 'string', enum: ['pending', 'active', 'expired', 'revoked', 'canceled'] },
      expiring: flag('Active, with at most 30 days or a third of its time left.'),
      source: { type: 'string', enum: ['service', 'import'] },
      type: textOrNull('Null for imported instances.'),
      sans: { type: ['array', 'null'], items: ref('San') },
      pubkey_hash: text(`Of the DER public key. ${sha256}`),
      sha1_fingerprint: textOrNull(
        'SHA-1 of the DER certificate, lower-case hex; of a pending instance of its temporary certificate.',
      ),
      sha256_fingerprint: textOrNull(`Of the DER certificate. ${sha256}`),
      expiration: seconds('End of its validity.'),
      csr: text('Expandable. PEM.'),
      crt: text('Expandable. PEM; of a pending instance a temporary certificate that nobody trusts.'),
      chain: listOf({ type: 'string' }, 'Expandable. PEM of each intermediate; the first issued crt.'),
      root: text('Expandable. PEM.'),
      invoice_id: textOrNull('Null when there is no invoice.'),
      approval_method: approvalMethodOrNull,
      approver_email: text('If and only if approval_method is email.'),
      approval_email_from: text('If and only if approval_method is email.'),
      approval: listOf(
        object({
          name: text('The name.'),
          method: textOrNull('How it is approved.'),
          status: text('pending or approved.'),
          problem: textOrNull('What the last look found.'),
        }),
        'How far each name is.',
      ),
      last_error: {
        type: ['object', 'null'],
        properties: { code: text('For programs.'), message: text('For people.') },
        description: 'What the newest attempt ran into.',
      },
    },
    ['id', 'state', 'expiring', 'source', 'type', 'sans', 'pubkey_hash'],
  ),
  RevokeResult: object(
    {
      status: {
        type: 'string',
        enum: ['pending', 'revoked'],
        description: 'pending until the CA has confirmed every revocation, those of earlier calls included.',
      },
      num_revoked: integer('Instances that this call revoked.'),
      num_active: integer('Instances that are active, imported ones included.'),
      num_imported: integer('Instances that were left, since they were imported.'),
    },
    ['status', 'num_revoked', 'num_active', 'num_imported'],
  ),
  TestResult: object(
    {
      hostname: text('Host that was tested.'),
      ip_address: text('Address that was tested.'),
      status: { type: 'string', enum: ['conclusive', 'connect_error', 'handshake_error', 'internal_error'] },
      correct: flag('If and only if conclusive.'),
      chained: flag('If and only if conclusive.'),
      dummy: flag('If and only if conclusive: a temporary certificate was served.'),
      error: text('If and only if not conclusive.'),
    },
    ['hostname', 'ip_address', 'status'],
  ),
  Pricing: object({
    dns_names: listOf({ type: 'string' }, 'Names that the certificate would have.'),
    duration: integer('How long, in duration_unit.'),
    duration_unit: text('year, or day.'),
    currency: text('ISO 4217.'),
    price: integer('In hundredths of the currency.'),
    description: text('What is sold.'),
    payment: { anyOf: [object({ method: text('balance or none.') }), { type: 'null' }] },
  }),
  ProductOffer: object({
    cn: text('Common name.'),
    default_sans: listOf({ type: 'string' }, 'The common name, and the name that default SANs add.'),
    description: text('What is sold.'),
    years: integer('How long, where it is whole years.'),
    price: object({
      currency: text('ISO 4217.'),
      base_price: integer('Of a year, in hundredths of the currency.'),
      discount: integer('In hundredths of the currency.'),
      amount_due: integer('In hundredths of the currency.'),
    }),
    payment: { anyOf: [object({ method: text('balance or none.') }), { type: 'null' }] },
    approval_methods: listOf(approvalMethod, 'Those that can approve the name.'),
    approver_emails: listOf({ type: 'string' }, 'Who may approve by email.'),
  }),
  ParsedCertificate: object({
    cn: text('Common name of the subject, else the first DNS name; in lower case.'),
    sans: listOf(
      object({ type: text('dns, or other.'), value: text('The name; of others which kind it is.') }),
      'Alternative names.',
    ),
    pubkey_hash: text(`Of the DER public key. ${sha256}`),
    sha1_fingerprint: text('SHA-1 of the DER certificate, lower-case hex.'),
    sha256_fingerprint: text(`Of the DER certificate. ${sha256}`),
    expiration: integer('End of its validity; UNIX time in seconds.'),
    ev: flag('Whether it states the policy of Extended Validation.'),
  }),
  ApprovalWays: object({
    email: object({ available: flag('.'), addresses: listOf({ type: 'string' }, 'Who may approve.') }),
    dns: object({ available: flag('.'), integrated: flag('An integration of the account publishes it.') }),
    http: object({ available: flag('.'), integrated: flag('The rule of the web server was seen working.') }),
  }),
  Invoice: object({
    number: text('Unique.'),
    issued_at: integer('UNIX time in seconds.'),
    account: text('Name of the account.'),
    currency: text('ISO 4217.'),
    lines: listOf(
      object({
        description: text('.'),
        quantity: integer('.'),
        unit_price: integer('Hundredths.'),
        amount: integer('Hundredths.'),
      }),
      'What was bought.',
    ),
    total: integer('Hundredths of the currency.'),
    note: textOrNull('As given when buying.'),
    email_to: textOrNull('Where a copy went.'),
    refunded_at: seconds('When it was given back.'),
  }),
  Account: object({
    id: integer('Unique; stands in front of every API key.'),
    name: text('What people call it.'),
    contact_email: textOrNull('Where notices go.'),
    country: textOrNull('ISO 3166-1, two letters.'),
    state: textOrNull('State or province.'),
    locality: textOrNull('City.'),
    organization: textOrNull('Organization.'),
    mail_when_issued: flag('Whether a mail is sent for each instance that is issued.'),
    mail_when_revoked: flag('Whether a mail is sent when a revocation is complete.'),
    balance_cents: integer('Hundredths of the currency; below zero: owed.'),
    credit_limit_cents: integer('How far the balance may go below zero.'),
    currency: text('ISO 4217.'),
  }),
  Error: object(
    {
      reason: text('For programs; never changes its meaning.'),
      message: text('For people.'),
      param: text('Name of the parameter at fault.'),
      retry_after: integer('Seconds to wait.'),
    },
    ['reason', 'message'],
  ),
};
