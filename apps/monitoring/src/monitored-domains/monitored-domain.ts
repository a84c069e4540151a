import { type ParsedMonitoredName, parseMonitoredName } from '@certwright/dns-names';
import { type FieldFault, Problem } from '@certwright/errors';
import { BooleanMember, documentedParameter, Expand, ReadBy } from '@certwright/service';
import { Param } from '@nestjs/common';
import { MonitoredDomainStatusSchema } from '../status/status';
import { ApiParam, ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

/** A domain whose certificates the account watches. */
export class MonitoredDomainSchema {
  @ApiProperty({
    description:
      'Lower-case A-labels without a dot at the end. With a leading dot: the domain and its whole sub-domain tree.',
    example: '.example.com',
  })
  name: string;

  @ApiProperty({
    description: 'Of several objects that match a name, the most specific one decides by this.',
  })
  enabled: boolean;

  @ApiPropertyOptional({ type: MonitoredDomainStatusSchema, description: 'With `expand=status`.' })
  status?: MonitoredDomainStatusSchema;
}

export class MonitoredDomainQuery {
  @Expand('status')
  expand: readonly string[] = [];
}

/** The body of a POST. */
export class MonitoredDomainRequest {
  @ApiPropertyOptional({ type: String, description: 'Not needed; the same as in the URL.' })
  @ReadBy((value) => value)
  name?: unknown;

  @BooleanMember({ description: 'Default: true for a new object; an existing one keeps its value.' })
  enabled?: boolean;
}

/** `@DomainName() name: string` */
export const DomainName = () =>
  documentedParameter(
    Param('name'),
    ApiParam({
      name: 'name',
      description:
        'A domain, or with a leading dot a domain with its whole sub-domain tree; percent-encoded or raw, in any case.',
      example: '.example.com',
    }),
  );

/** Clients remove `.` and `..` from URLs, so a path of dots is that of the list, and of no domain. */
export const isPathOfList = (name: string): boolean => /^\.+$/.test(name);

/** A name as a URL has it, in normal form. */
export interface NameInPath {
  readonly name: string;
  /** The fault of a name that is not public; null: none. An object that exists can still be read, changed and deleted. */
  readonly fault: FieldFault | null;
}

/** @returns the fault of a text that is not a name at all */
export function readNameInPath(text: string): NameInPath | FieldFault {
  const parsed: ParsedMonitoredName = parseMonitoredName(text);
  if (parsed.ok) return { name: parsed.name, fault: null };
  const fault: FieldFault = { field: 'name', code: parsed.code, message: parsed.message };
  return parsed.code === 'not_public_domain' ? { name: parsed.name, fault } : fault;
}

/** @throws Problem `bad_request` for a text that is not a name at all */
export function nameInPath(text: string): NameInPath {
  const read = readNameInPath(text);
  if ('code' in read) throw Problem.ofFields([read]);
  return read;
}

/** `name` of a body must be that of the URL, in any spelling. */
export function immutableNameFaults(sent: unknown, name: string): readonly FieldFault[] {
  if (sent === undefined) return [];
  const read = typeof sent === 'string' ? readNameInPath(sent) : null;
  if (read !== null && 'name' in read && read.name === name) return [];
  const message = `It must be "${name}", as in the URL, or absent.`;
  return [{ field: 'name', code: 'immutable_field', message }];
}
