import type { Credentials, SealedCredentials } from '@certwright/gateway-contract';
import { Problem } from '@certwright/errors';
import { ObjectReader } from './object-reader';

const plainTypes = ['bearer', 'oauth_code', 'cloud_account'] as const;
const anyTypes = [...plainTypes, 'sealed'] as const;

/**
 * Credentials as a provider asks for them: a type, and members that are texts. Which members, of which shape, the provider
 * checks. No fault repeats the name of a member that nobody asked for: a secret may stand in the wrong place.
 *
 * @throws Problem `bad_request`
 */
export function readCredentials(value: unknown): Credentials {
  return readTyped(value, plainTypes) as Credentials;
}

/** @throws Problem `bad_request` */
export function readAnyCredentials(value: unknown): Credentials | SealedCredentials {
  const credentials = readTyped(value, anyTypes);
  if (credentials.type !== 'sealed') return credentials as Credentials;
  const { type, jwe, ...others } = credentials;
  if (jwe === undefined) throw fault('credentials.jwe', 'Must be a compact JWE.', 'missing_field');
  if (Object.keys(others).length > 0) throw fault('credentials', 'It may have only type and jwe.');
  return { type, jwe };
}

function readTyped<T extends string>(
  value: unknown,
  types: readonly [T, ...T[]],
): Readonly<Record<string, string>> & { readonly type: T } {
  const reader = new ObjectReader(value, 'credentials.');
  const type = reader.oneOf('type', types);
  const members = reader.names().map((name) => [name, reader.value(name)] as const);
  reader.done();
  if (!members.every(([, text]) => typeof text === 'string'))
    throw fault('credentials', 'Every member of it must be a text.');
  return { ...(Object.fromEntries(members) as Readonly<Record<string, string>>), type };
}

const fault = (
  field: string,
  message: string,
  code: 'invalid_value' | 'missing_field' = 'invalid_value',
): Problem => Problem.ofFields([{ field, code, message }]);
