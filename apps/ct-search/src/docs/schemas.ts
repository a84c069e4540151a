/** JSON Schema, as OpenAPI 3.1 takes it. */
export type Schema = Readonly<Record<string, unknown>>;

const text = (description: string): Schema => ({ type: 'string', description });
const textOrNull = (description: string): Schema => ({ type: ['string', 'null'], description });
const integer = (description: string): Schema => ({ type: 'integer', description });
const number = (description: string): Schema => ({ type: 'number', description });
const flag = (description: string): Schema => ({ type: 'boolean', description });
const instant = (description: string): Schema => ({ type: 'string', format: 'date-time', description });
const instantOrNull = (description: string): Schema => ({
  type: ['string', 'null'],
  format: 'date-time',
  description,
});
const listOf = (items: Schema, description: string): Schema => ({ type: 'array', items, description });
const ref = (name: string, description: string): Schema => ({
  $ref: `#/components/schemas/${name}`,
  description,
});
const object = (properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
});

const sha256 = 'SHA-256, lower-case hexadecimal.';
const hexDigest = { pattern: '^[0-9a-f]{64}$' };

const issuance = object(
  {
    id: text('Names the issuance, and the place behind it in the order of discovery.'),
    tbs_sha256: {
      ...text(
        `Of the transparency TBSCertificate (RFC 6962, section 3.2), which certificate and precertificate share. ${sha256}`,
      ),
      ...hexDigest,
    },
    cert_sha256: {
      ...text(`Of the DER certificate if it is known, else of the precertificate. ${sha256}`),
      ...hexDigest,
    },
    dns_names: listOf(
      { type: 'string' },
      'Expandable. Of DNS SANs and common names; internationalized names in Punycode. `<unparsable>` replaces a label with control characters.',
    ),
    pubkey_sha256: { ...text(`Of the DER SubjectPublicKeyInfo. ${sha256}`), ...hexDigest },
    pubkey_der: text('Expandable. Base64 of the DER SubjectPublicKeyInfo.'),
    pubkey: ref('PublicKey', 'Expandable.'),
    issuer: ref('Issuer', 'Expandable.'),
    not_before: instant('About when it was issued; CAs may set it hours back.'),
    not_after: instant('When it expires.'),
    revoked: { type: ['boolean', 'null'], description: 'Null: not known.' },
    revocation: ref('Revocation', 'Expandable.'),
    problem_reporting: textOrNull('Expandable. How to ask the CA for revocation.'),
    cert_der: text('Expandable. Base64 of the DER certificate if it is known, else of the precertificate.'),
    cert: { ...ref('LoggedCertificate', 'Expandable. Use cert_der and cert_sha256.'), deprecated: true },
  },
  ['id', 'tbs_sha256', 'cert_sha256', 'pubkey_sha256', 'not_before', 'not_after', 'revoked'],
);

const log = object({
  description: text('What the log list calls it.'),
  operator: text('Who runs it.'),
  kind: { type: 'string', enum: ['rfc6962', 'static'], description: 'Which API it has.' },
  url: text('Where its entries are read.'),
  log_id: text('Base64 of the SHA-256 of its key.'),
  list_state: text('Its state in the log list.'),
  state: {
    type: 'string',
    enum: ['followed', 'stopped', 'ended'],
    description:
      'stopped: it broke a promise, and an operator has to look; ended: no list names it any more, or it is not wanted.',
  },
  size: integer('Entries, by its newest signed tree head that was verified.'),
  size_at: instantOrNull('When that head was signed.'),
  first: integer('Index of the first entry that is read.'),
  position: integer('Index of the next entry that is read.'),
  backlog: { type: ['integer', 'null'], description: 'Entries that are still to be read.' },
  verified_position: integer(
    'Up to here the log has proved that its entries are part of the tree that it has signed. Entries are stored once that is so.',
  ),
  unverified_entries: integer(
    'Entries between verified_position and position. They can be found already: 0 unless the log refuses proofs. When it is stopped, what it alone has is removed.',
  ),
  entries_per_second: number('Entries that are being read, an average over about a minute.'),
  newest_entry_at: instantOrNull('Timestamp of the newest entry that was read.'),
  odd_entries: integer('Entries that could not be read as what they are said to be.'),
  lag_seconds: { type: ['integer', 'null'], description: 'How old what is known of the log is.' },
  lagging: flag('Whether that is more than the log itself explains.'),
  last_error: textOrNull('Why the last turn ended early.'),
  stopped_at: instantOrNull('Since when it is stopped.'),
  stopped_reason: textOrNull('What promise it broke.'),
});

export const schemas: Readonly<Record<string, Schema>> = {
  Issuance: issuance,
  PublicKey: object(
    {
      type: { type: 'string', description: 'rsa, ecdsa or unknown; more may be added.' },
      bit_length: integer('Of the modulus; present if and only if type is rsa.'),
      curve: text('P-256, P-384, P-521 or unknown; present if and only if type is ecdsa; more may be added.'),
    },
    ['type'],
  ),
  Issuer: object(
    {
      friendly_name: text('What people call it; may change.'),
      website: textOrNull('Expandable. Null: not known.'),
      caa_domains: {
        type: ['array', 'null'],
        items: { type: 'string' },
        description: 'Expandable. Names that authorize it in a CAA record. Null: not known.',
      },
      operator: {
        anyOf: [
          object({ name: text('Its name.'), website: textOrNull('Its website.') }, ['name', 'website']),
          { type: 'null' },
        ],
        description: 'Expandable. The organization that controls its key. Null: not known.',
      },
      pubkey_sha256: {
        ...text(`Of the DER SubjectPublicKeyInfo. ${sha256} 64 zeros where a log did not tell who signed.`),
        ...hexDigest,
      },
      pubkey_der: text('Expandable. Base64 of the DER SubjectPublicKeyInfo; empty where it is not known.'),
      name: text('Distinguished name, in the form of RFC 2253.'),
      name_der: text('Expandable. Base64 of the DER distinguished name.'),
    },
    ['friendly_name', 'pubkey_sha256', 'name'],
  ),
  Revocation: object(
    {
      time: instantOrNull('When it was revoked; null when it is not, or not known.'),
      reason: { type: ['integer', 'null'], description: 'RFC 5280, section 5.3.1.' },
      checked_at: instantOrNull('When the status was last checked; null when it is not known.'),
    },
    ['time', 'reason', 'checked_at'],
  ),
  LoggedCertificate: object(
    {
      type: { type: 'string', enum: ['cert', 'precert'] },
      sha256: { ...text('The same as cert_sha256.'), ...hexDigest },
      data: text('The same as cert_der.'),
    },
    ['type', 'sha256', 'data'],
  ),
  Status: object({
    as_of: instant('When this was asked.'),
    issuances: object({
      newest: textOrNull('Id of the newest issuance.'),
      newest_at: instantOrNull('When it was discovered.'),
      per_second: number('Issuances that nobody had seen before, an average over about a minute.'),
    }),
    lagging: flag('Whether any log that is followed lags.'),
    logs: listOf(log, 'All logs that are or were followed.'),
  }),
  Error: object(
    {
      code: text('For programs: never changes its meaning. docs/errors.md lists every code.'),
      message: text('For people.'),
      field: text('The parameter at fault, if it is a single one.'),
      sub_errors: listOf(
        object({ code: text('As above.'), message: text('As above.'), field: text('The parameter.') }, [
          'code',
          'message',
          'field',
        ]),
        'What is wrong with each parameter.',
      ),
    },
    ['code', 'message'],
  ),
};
