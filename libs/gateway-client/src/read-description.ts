import {
  type CredentialKind,
  type CredentialMember,
  type GatewayDescription,
  type ProviderDescription,
  providerNames,
} from '@certwright/gateway-contract';
import { isObject, type Json, notUnderstood } from './read-answer';

const credentialTypes = ['bearer', 'oauth_code', 'cloud_account'] as const;

/**
 * Providers, and kinds of credentials, that only a newer gateway knows are left out.
 *
 * @throws GatewayFault `unreachable`
 */
export function readDescription(json: Json): GatewayDescription {
  const key = json['encryption_key'];
  if (!isObject(key) || !Object.values(key).every((member) => typeof member === 'string'))
    throw notUnderstood();
  return {
    encryption_key: key as Readonly<Record<string, string>>,
    providers: objects(json['providers']).flatMap((provider) => readProvider(provider) ?? []),
  };
}

function readProvider(json: Json): ProviderDescription | null {
  const name = providerNames.find((known) => known === json['name']);
  if (name === undefined) return null;
  return {
    name,
    title: text(json['title']),
    advice: text(json['advice']),
    credentials: objects(json['credentials']).flatMap((kind) => readKind(kind) ?? []),
  };
}

function readKind(json: Json): CredentialKind | null {
  const type = credentialTypes.find((known) => known === json['type']);
  if (type === undefined) return null;
  return {
    type,
    members: objects(json['members']).map(readMember),
    authorization_url: nullableText(json['authorization_url']),
    principal: nullableText(json['principal']),
    external_id: nullableText(json['external_id']),
  };
}

function readMember(json: Json): CredentialMember {
  const { secret, required } = json;
  if (typeof secret !== 'boolean' || typeof required !== 'boolean') throw notUnderstood();
  return { name: text(json['name']), meaning: text(json['meaning']), secret, required };
}

function objects(value: unknown): readonly Json[] {
  if (!Array.isArray(value) || !value.every(isObject)) throw notUnderstood();
  return value;
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw notUnderstood();
  return value;
}

const nullableText = (value: unknown): string | null => (value === null ? null : text(value));
