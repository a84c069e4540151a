import type { Credentials, SealedCredentials } from '@certwright/gateway-contract';
import type { FieldFaultCode } from '@certwright/errors';
import { Unreadable } from '@certwright/service';

export const plainTypes = ['bearer', 'oauth_code', 'cloud_account'];

/** Members differ by provider, so there is no class for them. */
export const credentialsSchemaName = 'Credentials';
export const credentialsSchema = {
  description:
    'Members beside the type are texts and differ by provider: description lists them. Those that are sealed to its encryption_key cannot be read by anyone in between.',
  oneOf: [
    {
      type: 'object',
      required: ['type'],
      additionalProperties: { type: 'string' },
      properties: {
        type: {
          type: 'string',
          enum: plainTypes,
          description:
            'bearer: a secret that the customer made at the provider. oauth_code: what the provider sent the browser back with. cloud_account: the account that the customer opened to the own one of the operator.',
        },
      },
    },
    {
      type: 'object',
      required: ['type', 'jwe'],
      additionalProperties: false,
      properties: {
        type: { const: 'sealed' },
        jwe: {
          type: 'string',
          description:
            'Compact JWE (RFC 7516) with ECDH-ES+A256KW and A256GCM over account, provider, credentials and issued_at (Unix time, seconds); valid for ten minutes.',
        },
      },
    },
  ],
};

/**
 * Credentials in the request format: a type, and members that are strings. The provider checks which members and
 * their format. No error repeats the name of an unknown member: it may be a secret in the wrong place.
 */
export function readCredentials(sent: unknown): Credentials | Unreadable {
  return readTyped(sent, plainTypes) as Credentials | Unreadable;
}

/** As `readCredentials`, or sealed. */
export function readAnyCredentials(sent: unknown): Credentials | SealedCredentials | Unreadable {
  const read = readTyped(sent, [...plainTypes, 'sealed']);
  if (read instanceof Unreadable || read.type !== 'sealed') return read as Credentials | Unreadable;
  const { type, jwe, ...others } = read;
  if (jwe === undefined) return unreadable('credentials.jwe', 'Must be a compact JWE.', 'missing_field');
  if (Object.keys(others).length > 0) return unreadable('credentials', 'It may have only type and jwe.');
  return { type, jwe };
}

function readTyped(sent: unknown, types: readonly string[]): Readonly<Record<string, string>> | Unreadable {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent))
    return unreadable('credentials', 'Must be a JSON object.', codeOf(sent));
  const { type } = sent as { readonly type?: unknown };
  if (!types.includes(type as string))
    return unreadable('credentials.type', `Must be one of ${types.join(', ')}.`, codeOf(type));
  if (!Object.values(sent).every((text) => typeof text === 'string'))
    return unreadable('credentials', 'Every member of it must be a text.');
  return { ...(sent as Readonly<Record<string, string>>) };
}

const codeOf = (value: unknown): FieldFaultCode => (value === undefined ? 'missing_field' : 'invalid_value');

const unreadable = (field: string, message: string, code: FieldFaultCode = 'invalid_value') =>
  new Unreadable([{ field, code, message }]);
