import { parseName, sameRecord, type DnsName, type ZoneRecord } from '@certwright/dns-authority';
import { DEMO_TTL_S } from './apex-records';
import { ControlFault } from './control-fault';
import { MAX_LISTED_RECORDS, type DemoZones } from './demo-zones';
import {
  PUBLISHABLE_TYPES,
  isTtl,
  parseValue,
  publishableType,
  textOf,
  valueForm,
  type PublishableType,
} from './record-text';

export interface ControlResponse {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

type Body = Readonly<Record<string, unknown>>;

/**
 * GET /healthz, GET /records?name=, and with a JSON body POST /records {name, type, value, ttl?} and
 * DELETE /records {name, type, value?}.
 * @throws ControlFault
 */
export async function handleControl(
  method: string,
  url: string,
  body: Body | undefined,
  zones: DemoZones,
): Promise<ControlResponse> {
  const [path = '', query = ''] = url.split('?', 2);
  const isHealth = path === '/healthz';
  if (!isHealth && path !== '/records') {
    throw new ControlFault('not_found', 'The paths are /records and /healthz.');
  }
  if (method === 'GET' || method === 'HEAD') {
    return isHealth ? { status: 200, body: { status: 'ok' } } : list(new URLSearchParams(query), zones);
  }
  if (!isHealth && method === 'POST' && body !== undefined) return publish(body, zones);
  if (!isHealth && method === 'DELETE' && body !== undefined) return remove(body, zones);
  const allow = isHealth ? ['GET'] : ['GET', 'POST', 'DELETE'];
  throw new ControlFault('method_not_allowed', `${path} supports ${allow.join(', ')}.`, undefined, allow);
}

function list(query: URLSearchParams, zones: DemoZones): ControlResponse {
  const name = query.get('name');
  const records = zones.records(name === null ? undefined : nameIn({ name }));
  const truncated = name === null && records.length === MAX_LISTED_RECORDS;
  return { status: 200, body: { records: records.map(textOf), truncated } };
}

async function publish(body: Body, zones: DemoZones): Promise<ControlResponse> {
  const name = nameIn(body);
  const type = typeIn(body);
  const record = recordIn(name, type, body);
  const isNew = await zones.publish(record);
  return { status: isNew ? 201 : 200, body: textOf(record) };
}

async function remove(body: Body, zones: DemoZones): Promise<ControlResponse> {
  const name = nameIn(body);
  const type = typeIn(body);
  const only = body.value === undefined ? undefined : recordIn(name, type, { value: body.value });
  const matches = (record: ZoneRecord) => (only ? sameRecord(record, only) : record.type === type);
  return { status: 200, body: { deleted: await zones.remove(name, matches) } };
}

function nameIn(body: Body): DnsName {
  const name = parseName(textIn(body, 'name'));
  if (name !== undefined) return name;
  throw new ControlFault('invalid_value', 'Not a domain name: labels of letters, digits, - and _.', 'name');
}

function typeIn(body: Body): PublishableType {
  const type = publishableType(textIn(body, 'type'));
  if (type !== undefined) return type;
  throw new ControlFault('invalid_value', `The type must be one of ${PUBLISHABLE_TYPES.join(', ')}.`, 'type');
}

function recordIn(name: DnsName, type: PublishableType, body: Body): ZoneRecord {
  const data = parseValue(type, textIn(body, 'value'));
  if (data === undefined) {
    throw new ControlFault('invalid_value', `The value of a ${type} record is ${valueForm(type)}.`, 'value');
  }
  const { ttl = DEMO_TTL_S } = body;
  if (!isTtl(ttl)) throw new ControlFault('invalid_value', 'The ttl is a whole number of seconds.', 'ttl');
  return { ...data, name, ttl };
}

function textIn(body: Body, field: string): string {
  const value = body[field];
  if (value === undefined) throw new ControlFault('missing_field', `${field} is missing.`, field);
  if (typeof value !== 'string') throw new ControlFault('invalid_value', `${field} must be a string.`, field);
  return value;
}
