import type { FieldFault } from '@certwright/errors';
import {
  type Credentials,
  type ProviderName,
  providerNames,
  type SealedCredentials,
} from '@certwright/gateway-contract';
import { isObject, type JsonObject, readObject, unknownMembers } from '../wire/object-members';

/** Unicode code points. */
export const longestDescription = 255;

/** No provider wants a third of it. */
const mostCredentialMembers = 32;

/** What is asked for, when nothing is wrong with it. What each provider needs, the gateway knows. */
export interface IntegrationWishes {
  readonly provider: ProviderName;
  readonly description: string;
  readonly credentials: Credentials | SealedCredentials;
}

export type IntegrationReading =
  { readonly wishes: IntegrationWishes } | { readonly faults: readonly FieldFault[] };

const knownMembers: ReadonlySet<string> = new Set(['provider', 'description', 'credentials']);
const openTypes = ['bearer', 'oauth_code', 'cloud_account'];

/** RFC 7516, section 7.1: five parts in base64url, of which the encrypted key may be empty for some algorithms. */
const compactJwe = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+){3}$/;

/**
 * Reads the body of a POST, every member by itself. No message repeats anything of the credentials, names of members
 * included: a secret may stand in the wrong place.
 *
 * @throws Problem `bad_request` when the body is no object
 */
export function readIntegrationRequest(sent: unknown): IntegrationReading {
  const body = readObject(sent, 'a DNS integration');
  const { provider, description = '', credentials } = body;
  const known = providerNames.find((name) => name === provider);
  const faults = [
    ...(known === undefined ? [providerFault(provider)] : []),
    ...descriptionFaults(description),
    ...credentialFaults(credentials),
    ...unknownMembers(body, knownMembers, 'A DNS integration'),
  ];
  if (faults.length > 0 || known === undefined) return { faults };
  return {
    wishes: {
      provider: known,
      description: description as string,
      credentials: credentials as Credentials | SealedCredentials,
    },
  };
}

function providerFault(provider: unknown): FieldFault {
  return provider === undefined
    ? missing('provider', 'A DNS integration needs a provider.')
    : invalid('provider', `It must be one of ${providerNames.join(', ')}.`);
}

function descriptionFaults(description: unknown): readonly FieldFault[] {
  if (typeof description !== 'string') return [invalid('description', 'It must be a string.')];
  if ([...description].length > longestDescription)
    return [invalid('description', `It is longer than ${longestDescription} characters.`)];
  if (/\p{Cc}/u.test(description) || !description.isWellFormed())
    return [invalid('description', 'It has control characters.')];
  return [];
}

function credentialFaults(credentials: unknown): readonly FieldFault[] {
  if (credentials === undefined)
    return [missing('credentials', 'A DNS integration needs credentials of its provider.')];
  if (!isObject(credentials)) return [invalid('credentials', 'It must be an object with a type.')];
  const { type } = credentials;
  if (type === 'sealed') return sealedFaults(credentials);
  if (type === undefined) return [missing('credentials.type', 'It says of which kind the credentials are.')];
  if (!openTypes.some((known) => known === type))
    return [invalid('credentials.type', `It must be one of ${openTypes.join(', ')}, sealed.`)];
  const members = Object.values(credentials);
  if (members.length > mostCredentialMembers)
    return [invalid('credentials', `It has more than ${mostCredentialMembers} members.`)];
  return members.every((value) => typeof value === 'string')
    ? []
    : [invalid('credentials', 'Every member of it must be a string.')];
}

/** Beside what is sealed nothing may stand: a secret there would be seen. */
function sealedFaults({ type: _, jwe, ...others }: JsonObject): readonly FieldFault[] {
  const extra =
    Object.keys(others).length === 0 ? [] : [invalid('credentials', 'It may have only type and jwe.')];
  if (jwe === undefined)
    return [missing('credentials.jwe', 'A sealed credential is a compact JWE (RFC 7516).'), ...extra];
  if (typeof jwe !== 'string' || !compactJwe.test(jwe))
    return [invalid('credentials.jwe', 'It is no compact JWE (RFC 7516).'), ...extra];
  return extra;
}

const invalid = (field: string, message: string): FieldFault => ({ field, code: 'invalid_value', message });
const missing = (field: string, message: string): FieldFault => ({ field, code: 'missing_field', message });
