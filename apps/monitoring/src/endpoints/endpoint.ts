import { parseMonitoredName, parsePublicName } from '@certwright/dns-names';
import {
  After,
  BooleanMember,
  documentedParameter,
  Limit,
  maxPageSize,
  ReadBy,
  timestamp,
  Unreadable,
} from '@certwright/service';
import { Param } from '@nestjs/common';
import { ApiParam, ApiProperty, ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { noSuchEndpoint } from '../wire/problems';
import type { Endpoint } from './endpoints.repository';

/** Of one endpoint: a constraint of the table. */
const maxPorts = 4;

const documentedPorts: ApiPropertyOptions = {
  type: 'array',
  items: { type: 'integer', minimum: 1, maximum: 65_535 },
  minItems: 1,
  maxItems: maxPorts,
  description: 'TCP ports with TLS, ascending. Default: 443.',
};

/** What a check of an address found. */
export class EndpointFindingSchema {
  @ApiProperty({ description: 'IPv4 or IPv6.' })
  address: string;

  @ApiProperty({ type: 'integer' })
  port: number;

  @ApiProperty({ description: 'What is wrong; more may be added.', example: 'expired' })
  finding: string;

  @ApiProperty({ format: 'date-time' })
  since: string;
}

/** A host whose certificate is checked. */
export class EndpointSchema {
  @ApiProperty({ example: 'www.example.com' })
  dns_name: string;

  @ApiProperty({ description: 'Whether its findings are not reported.' })
  muted: boolean;

  @ApiProperty(documentedPorts)
  ports: readonly number[];

  @ApiProperty({ description: 'not_checked: no check ran yet; more may be added.' })
  state: string;

  @ApiProperty({ format: 'date-time', description: 'Since when it has this state.' })
  since: string;

  @ApiProperty({ type: [EndpointFindingSchema] })
  findings: readonly EndpointFindingSchema[];

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'The last check.' })
  looked_at: string | null;
}

/** The body of a POST; a member that is left out keeps its value. */
export class EndpointRequest {
  @BooleanMember({ description: 'true: its findings are shown and not reported.' })
  muted?: boolean;

  @ApiPropertyOptional(documentedPorts)
  @ReadBy(readPorts)
  ports?: readonly number[];
}

export class EndpointsQuery {
  @After((text) => parseMonitoredName(text).ok, 'Name of the last endpoint of the page before.')
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

/** `@EndpointName() name: string` */
export const EndpointName = () =>
  documentedParameter(
    Param('dns_name'),
    ApiParam({ name: 'dns_name', description: 'In any case.', example: 'www.example.com' }),
  );

/** @throws Problem `not_found` for a text that no endpoint has as its name */
export function endpointNameInPath(text: string): string {
  const parsed = parsePublicName(text);
  if (!parsed.ok || parsed.name.startsWith('*.')) throw noSuchEndpoint();
  return parsed.name;
}

/** Whether a monitored domain is a host, whose certificate can be checked: not a tree, and no name of another DNS record. */
export const isHost = (name: string): boolean => !name.startsWith('.') && !name.includes('_');

export const endpointJson = ({ dns_name, muted, ports, found_at }: Endpoint): EndpointSchema => ({
  dns_name,
  muted,
  ports,
  state: 'not_checked',
  since: timestamp(found_at),
  findings: [],
  looked_at: null,
});
