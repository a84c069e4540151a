import { type FieldFault, fieldFaultCodes, problemCodes } from '@certwright/errors';
import type { GatewayEndpoint, Zone } from '@certwright/gateway-contract';
import type { RawAnswer } from './exchange';
import type { Answered } from './gateway';
import { GatewayFault } from './gateway-fault';

export type Json = Readonly<Record<string, unknown>>;

/** Visible ASCII: what a handle is made of is the gateway's affair. Bytes. */
const handleShape = /^[\x21-\x7e]{1,65536}$/;
/** RFC 1035, section 2.3.4, as a name in lower case; underscores occur in zones of DNS providers. */
const zoneNameShape = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/;
const maxZoneIdLength = 1_024;
const maxMessageLength = 1_000;
/** Seconds: a day, the longest wait that any provider requests. */
const maxWaitS = 86_400;

/** @throws GatewayFault as the gateway reports; `unreachable` when its response is unreadable */
export function readObject(answer: RawAnswer): Json {
  const json = parse(answer);
  if (answer.status !== 200) throw faultOf(answer, json);
  if (json === null) throw notUnderstood();
  return json;
}

/** One per message. Each throws GatewayFault `unreachable`, with the new handle if there is one. */
export const readers = {
  make_integration: (json) => ({ integration: handle(json, 'integration') }),
  get_zones: (json) => ({ zones: zones(json), ...resealed(json) }),
  add_record: (json) => ({ record_handle: handle(json, 'record_handle'), ...resealed(json) }),
  remove_record: (json) => resealed(json),
} as const satisfies { readonly [E in GatewayEndpoint]: (json: Json) => Answered<E> };

export function notUnderstood(integration?: string): GatewayFault {
  return new GatewayFault('unreachable', 'The answer of the DNS gateway cannot be understood.', {
    integration,
  });
}

function parse({ headers, body }: RawAnswer): Json | null {
  if (!/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')) return null;
  try {
    const json: unknown = JSON.parse(body.toString());
    return isObject(json) ? json : null;
  } catch {
    return null;
  }
}

function faultOf({ headers }: RawAnswer, json: Json | null): GatewayFault {
  if (json === null) return notUnderstood();
  const { integration } = freshHandle(json);
  const code = problemCodes.find((known) => known === json['code']);
  const message = sentence(json['message']);
  if (code === undefined || message === null) return notUnderstood(integration);
  const field = sentence(json['field']) ?? undefined;
  const retryAfterS = readRetryAfter(headers['retry-after']);
  return new GatewayFault(code, message, {
    field,
    retryAfterS,
    integration,
    faults: fieldFaults(json['sub_errors']),
  });
}

/** RFC 9110, section 10.2.3; the gateway writes seconds. */
function readRetryAfter(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Math.min(Number(header), maxWaitS) : undefined;
}

function fieldFaults(value: unknown): readonly FieldFault[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isObject).flatMap((fault) => {
    const code = fieldFaultCodes.find((known) => known === fault['code']);
    const [field, message] = [sentence(fault['field']), sentence(fault['message'])];
    return code === undefined || field === null || message === null ? [] : [{ field, code, message }];
  });
}

function handle(json: Json, member: string): string {
  const value = json[member];
  if (typeof value === 'string' && handleShape.test(value)) return value;
  throw notUnderstood(freshHandle(json).integration);
}

/** Of an answer: a new handle that has not the shape of one must not pass for none. */
function resealed(json: Json): { readonly integration?: string } {
  return json['integration'] === undefined ? {} : { integration: handle(json, 'integration') };
}

/** Whatever else is wrong with an answer: what may be the only handle left. */
function freshHandle(json: Json): { readonly integration?: string } {
  const { integration } = json;
  return typeof integration === 'string' && handleShape.test(integration) ? { integration } : {};
}

function zones(json: Json): readonly Zone[] {
  const list = json['zones'];
  if (!Array.isArray(list) || !list.every(isZone)) throw notUnderstood(freshHandle(json).integration);
  return list.map(({ id, name }) => ({ id, name }));
}

function isZone(value: unknown): value is Zone {
  if (!isObject(value)) return false;
  const { id, name } = value;
  return typeof name === 'string' && zoneNameShape.test(name) && typeof id === 'string' && isZoneId(id);
}

/** It is stored as text, which takes neither NUL nor half a surrogate pair. */
const isZoneId = (id: string): boolean =>
  id !== '' && id.length <= maxZoneIdLength && !/\p{Cc}/u.test(id) && id.isWellFormed();

/** Text for people, made fit to be stored and shown. */
function sentence(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null;
  return value
    .slice(0, maxMessageLength)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, ' ');
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
