import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { CredentialKind, Credentials, ProviderDescription } from '@certwright/gateway-contract';

export interface GivenCredentials {
  /** `name=value`, for members that are no secret. */
  readonly set: readonly string[];
  /** What came from the standard input or a file: a JSON object of members, or the one secret that is missing. */
  readonly secret: string;
}

/** From the standard input unless there is a file: arguments are seen by everybody on the machine. */
export async function readSecret(file: string | null): Promise<string> {
  if (file !== null) return await readFile(file, 'utf8');
  if (process.stdin.isTTY) process.stderr.write('The secret, or all members as JSON; then Ctrl-D:\n');
  return await text(process.stdin);
}

/** @throws Error when the provider is not offered, or not in this way */
export function chooseKind(
  { name, credentials }: ProviderDescription,
  type: string | undefined,
): CredentialKind {
  const kind = type === undefined ? credentials[0] : credentials.find((each) => each.type === type);
  if (kind !== undefined) return kind;
  const types = credentials.map((each) => each.type).join(', ');
  throw new Error(
    types === '' ? `The operator of the gateway has not set ${name} up.` : `${name} takes ${types}.`,
  );
}

/**
 * Puts credentials together. Whether they are complete, the gateway says.
 *
 * @throws Error when a secret stands among the arguments, or nobody can tell what the text is; never repeats the text
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
    throw new Error(`--set takes name=value with one of ${members.map((each) => each.name).join(', ')}.`);
  }
  if (member.secret) {
    throw new Error(`${name} is secret: give it by the standard input or --from-file, never as an argument.`);
  }
  return [name, pair.slice(at + 1)];
}

function readMembers(json: string): Readonly<Record<string, string>> {
  let members: unknown;
  try {
    members = JSON.parse(json);
  } catch {
    throw new Error('What was read begins like JSON and is none.');
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
