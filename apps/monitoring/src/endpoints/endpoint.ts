import { parseMonitoredName } from '@certwright/dns-names';
import { type EndpointState, endpointStates } from '@certwright/endpoint-checks';
import {
  After,
  BooleanMember,
  documentedParameter,
  Limit,
  maxPageSize,
  ReadBy,
  Unreadable,
} from '@certwright/service';
import { Param } from '@nestjs/common';
import { ApiParam, ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { noSuchEndpoint } from '../wire/problems';

/** Of one endpoint: a constraint of the table. */
const maxPorts = 4;

const documentedPorts: ApiPropertyOptions = {
  type: 'array',
  items: { type: 'integer', minimum: 1, maximum: 65_535 },
  minItems: 1,
  maxItems: maxPorts,
  description: 'TCP ports with TLS, ascending. Default: 443.',
};

/** The body of a POST; a member that is left out keeps its value. */
export class EndpointRequest {
  @BooleanMember({ description: 'true: its findings are shown and not reported.' })
  muted?: boolean;

  @ApiPropertyOptional(documentedPorts)
  @ReadBy(readPorts)
  ports?: readonly number[];
}

export class EndpointsQuery {
  @ApiPropertyOptional({
    type: 'array',
    items: { type: 'string', enum: [...endpointStates] },
    description: 'Only those in one of these states. May be repeated.',
  })
  @ReadBy(readStates)
  state: readonly EndpointState[] = [];

  @After((text) => readEndpointName(text) !== null, 'Name of the last endpoint of the page before.')
  after: string | null = null;

  @Limit()
  limit = maxPageSize;
}

function readPorts(value: unknown): readonly number[] | Unreadable {
  if (!Array.isArray(value)) return Unreadable.because('It must be an array of port numbers.');
  if (value.length === 0 || value.length > maxPorts)
    return Unreadable.because(`It must have 1 to ${maxPorts} port numbers; ${value.length} were sent.`);
  if (!value.every((port) => Number.isInteger(port) && port >= 1 && port <= 65_535))
    return Unreadable.because('A port is a whole number from 1 to 65535.');
  return [...new Set<number>(value)].sort((one, other) => one - other);
}

function readStates(value: unknown): readonly EndpointState[] | Unreadable {
  const states = new Set<EndpointState>();
  for (const text of [value].flat()) {
    const state = endpointStates.find((each) => each === text);
    if (state !== undefined) states.add(state);
    else if (text !== '') return Unreadable.because(`It must be one of ${endpointStates.join(', ')}.`);
  }
  return [...states];
}

/** `Link` of a page that is not the last one, with the parameters of this one. */
export function nextEndpointsLink(path: string, after: string, { limit, state }: EndpointsQuery): string {
  const query = new URLSearchParams({ after });
  if (limit !== maxPageSize) query.set('limit', String(limit));
  for (const each of state) query.append('state', each);
  return `<${path}?${query.toString()}>; rel="next"`;
}

/** `@EndpointName() name: string` */
export const EndpointName = () =>
  documentedParameter(
    Param('dns_name'),
    ApiParam({ name: 'dns_name', description: 'In any case.', example: 'www.example.com' }),
  );

/** Certificates have names that are forbidden there, such as those with hyphens at the third and fourth place: they are endpoints, too. */
const asCertified = /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})+\.?$/i;

/** Null for a text that no endpoint has as its name. */
function readEndpointName(text: string): string | null {
  const parsed = parseMonitoredName(text);
  const name = 'name' in parsed ? parsed.name : text;
  return asCertified.test(name) ? name.toLowerCase().replace(/\.$/, '') : null;
}

/** @throws Problem `not_found` for a text that no endpoint has as its name */
export function endpointNameInPath(text: string): string {
  const name = readEndpointName(text);
  if (name === null) throw noSuchEndpoint();
  return name;
}

/** Whether a monitored domain is a host, whose certificate can be checked: not a tree, and no name of another DNS record. */
export const isHost = (name: string): boolean => !name.startsWith('.') && !name.includes('_');
