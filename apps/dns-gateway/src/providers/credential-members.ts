import { Problem } from '@certwright/errors';
import type { FieldFault } from '@certwright/errors';
import type { CredentialKind, CredentialMember, Credentials } from '@certwright/gateway-contract';
import type { KeptCredentials } from './dns-provider';
import { ProviderFault } from './provider-fault';

/** A member with its description and required format. */
export interface MemberRule extends CredentialMember {
  readonly shape: RegExp;
  /** Ends the sentence "It must be …". */
  readonly shapeDescription: string;
}

/** Characters allowed in a header: no space, no control character, no line break. */
export const visibleAscii: Pick<MemberRule, 'shape' | 'shapeDescription'> = {
  shape: /^[\x21-\x7e]{1,4096}$/,
  shapeDescription: 'at most 4096 visible ASCII characters without spaces',
};

export const oauthCodeMembers: readonly MemberRule[] = [
  {
    name: 'code',
    meaning: 'what the provider sent the browser back with',
    secret: true,
    required: true,
    ...visibleAscii,
  },
  {
    name: 'code_verifier',
    meaning: 'the PKCE verifier (RFC 7636), when the browser was sent with a challenge',
    secret: true,
    required: false,
    ...visibleAscii,
  },
];

/** The part shown to customers. */
export const described = (rules: readonly MemberRule[]): readonly CredentialMember[] =>
  rules.map(({ name, meaning, secret, required }) => ({ name, meaning, secret, required }));

export const bearerKind = (rules: readonly MemberRule[]): CredentialKind => ({
  type: 'bearer',
  members: described(rules),
  authorization_url: null,
  principal: null,
  external_id: null,
});

/** @param more members that a provider requires besides the code, such as a project */
export const oauthCodeKind = (
  authorizationUrl: string,
  more: readonly MemberRule[] = [],
): CredentialKind => ({
  type: 'oauth_code',
  members: described([...oauthCodeMembers, ...more]),
  authorization_url: authorizationUrl,
  principal: null,
  external_id: null,
});

/**
 * Validates the members of a customer's credentials. Absent optional members stay absent.
 *
 * @param kinds the provider's rules for each type of credentials
 * @throws Problem `bad_request` with an error per member; never repeats a value
 */
export function readMembers(
  credentials: Credentials,
  kinds: Partial<Record<Credentials['type'], readonly MemberRule[]>>,
): Readonly<Record<string, string>> {
  const rules = kinds[credentials.type];
  if (rules === undefined) {
    const types = Object.keys(kinds).join(', ');
    const message =
      types === '' ? 'The operator has not set this provider up.' : `This provider takes ${types}.`;
    throw Problem.ofFields([{ field: 'credentials.type', code: 'invalid_value', message }]);
  }
  const given = new Map(Object.entries(credentials as Readonly<Record<string, unknown>>));
  given.delete('type');
  const faults = [...rules.flatMap((rule) => faultsOf(rule, given.get(rule.name))), ...unknown(rules, given)];
  if (faults.length > 0) throw Problem.ofFields(faults);
  return Object.fromEntries(
    [...given].filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

function faultsOf(
  { name, required, shape, shapeDescription }: MemberRule,
  value: unknown,
): readonly FieldFault[] {
  const field = `credentials.${name}`;
  if (value === undefined) {
    return required ? [{ field, code: 'missing_field', message: `${field} is needed.` }] : [];
  }
  if (typeof value === 'string' && shape.test(value)) return [];
  return [{ field, code: 'invalid_value', message: `${field} must be ${shapeDescription}.` }];
}

function unknown(rules: readonly MemberRule[], given: ReadonlyMap<string, unknown>): readonly FieldFault[] {
  const known = rules.map(({ name }) => name);
  // Names of unknown members are not repeated: they may be secrets in the wrong place.
  return [...given.keys()].every((name) => known.includes(name))
    ? []
    : [
        {
          field: 'credentials',
          code: 'invalid_value',
          message: `It may have only ${['type', ...known].join(', ')}.`,
        },
      ];
}

/** @throws ProviderFault when the handle's content has another format than this version writes */
export function keptMember(kept: KeptCredentials, name: string): string {
  const value = Object.hasOwn(kept, name) ? kept[name] : undefined;
  if (typeof value === 'string') return value;
  throw new ProviderFault(
    'auth_failed',
    'The integration holds no usable credentials; it must be made again.',
  );
}
