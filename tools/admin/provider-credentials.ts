import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { CredentialKind, Credentials, ProviderDescription } from '@certwright/gateway-contract';

export interface GivenCredentials {
  /** `name=value`, for members that are not secret. */
  readonly set: readonly string[];
  /** Text from standard input or a file: a JSON object of members, or the one missing secret. */
  readonly secret: string;
}

/** From standard input or a file, because all users of the machine can see arguments. */
export async function readSecret(file: string | null): Promise<string> {
  if (file !== null) return await readFile(file, 'utf8');
  if (process.stdin.isTTY)
    process.stderr.write('Enter the secret, or all members as JSON, and press Ctrl-D:\n');
  return await text(process.stdin);
}

/** @throws Error when the gateway does not support the provider, or not with this type of credentials */
export function chooseKind(
  { name, credentials }: ProviderDescription,
  type: string | undefined,
): CredentialKind {
  const kind = type === undefined ? credentials[0] : credentials.find((each) => each.type === type);
  if (kind !== undefined) return kind;
  const types = credentials.map((each) => each.type).join(', ');
  throw new Error(
    types === ''
      ? `The operator of the gateway has not configured ${name}.`
      : `${name} does not support --type ${type}. Choose from: ${types}.`,
  );
}

/**
 * Combines arguments and secret. The gateway checks whether the credentials are complete.
 *
 * @throws Error, without the text, for a secret in the arguments or a text that cannot be assigned to a member
 */
export function composeCredentials(kind: CredentialKind, given: GivenCredentials): Credentials {
  const open = Object.fromEntries(given.set.map((pair) => openMember(kind, pair)));
  const trimmed = given.secret.trim();
  const members = trimmed.startsWith('{') ? readMembers(trimmed) : soleMember(kind, open, trimmed);
  return { ...open, ...members, type: kind.type } as Credentials;
}

function openMember({ members }: CredentialKind, pair: string): readonly [string, string] {
  const at = pair.indexOf('=');
  const name = pair.slice(0, Math.max(0, at));
  const member = members.find((each) => each.name === name);
  if (member === undefined) {
    throw new Error(`--set expects name=value with one of ${members.map((each) => each.name).join(', ')}.`);
  }
  if (member.secret) {
    throw new Error(`${name} is secret: give it on standard input or with --from-file, not as an argument.`);
  }
  return [name, pair.slice(at + 1)];
}

function readMembers(json: string): Readonly<Record<string, string>> {
  let members: unknown;
  try {
    members = JSON.parse(json);
  } catch {
    throw new Error('The input begins with "{" but is not valid JSON.');
  }
  if (!Object.values(Object(members)).every((value) => typeof value === 'string'))
    throw new Error('Every member of the credentials must be a string.');
  return members as Readonly<Record<string, string>>;
}

function soleMember(
  { members }: CredentialKind,
  open: Readonly<Record<string, string>>,
  value: string,
): Readonly<Record<string, string>> {
  if (value === '') return {};
  const missing = members.filter(({ name, required }) => required && !Object.hasOwn(open, name));
  const [sole] = missing;
  if (sole === undefined || missing.length > 1) {
    const names = members.map(({ name }) => name).join(', ');
    throw new Error(`Give the members as a JSON object of strings: ${names}.`);
  }
  return { [sole.name]: value };
}
