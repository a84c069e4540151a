import {
  type Credentials,
  type GatewayMessages,
  type Integrated,
  type IntegrationOwner,
  type ProviderName,
  providerNames,
  recordTypes,
  type SealedCredentials,
} from '@certwright/gateway-contract';
import { MayBeAbsent, ReadBy, ReadObject, Unreadable } from '@certwright/service';
import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, type ApiPropertyOptions, ApiSchema } from '@nestjs/swagger';
import { IsBoolean, IsIn, IsString, Matches } from 'class-validator';
import { credentialsSchemaName, readAnyCredentials } from '../credentials/given-credentials';
import type { RequestedRecord } from '../policy/record-policy';

type Request<E extends keyof GatewayMessages> = GatewayMessages[E]['request'];

/** @param expected ends the message "Must be ….", which never repeats the value */
const PatternMember = (pattern: RegExp, expected: string, documented: ApiPropertyOptions) =>
  applyDecorators(
    ApiProperty({ type: String, pattern: pattern.source, ...documented }),
    Matches(pattern, { message: `Must be ${expected}.` }),
  );

const StringMember = (expected: string, documented: ApiPropertyOptions) =>
  applyDecorators(
    ApiProperty({ type: String, ...documented }),
    IsString({ message: `Must be ${expected}.` }),
  );

export const AccountMember = (description: string) =>
  PatternMember(/^[\x21-\x7e]{1,128}$/, '1 to 128 printable characters without spaces', { description });

class OwnerRequest implements IntegrationOwner {
  @AccountMember('Account of the platform.') readonly account: string;

  @PatternMember(/^[A-Za-z0-9_-]{1,64}$/, '1 to 64 of letters, digits, _ and -', {
    description: 'Chosen by the caller before the integration is made.',
  })
  readonly integration_id: string;

  @ApiProperty({ enum: providerNames, description: 'Provider of the integration.' })
  @IsIn(providerNames, { message: `Must be one of ${providerNames.join(', ')}.` })
  readonly provider: ProviderName;
}

@ApiSchema({ name: 'MakeIntegration' })
export class MakeIntegrationRequest extends OwnerRequest implements Request<'make_integration'> {
  @ApiProperty({ allOf: [{ $ref: `#/components/schemas/${credentialsSchemaName}` }] })
  @ReadBy(readAnyCredentials, { isRequired: true })
  readonly credentials: Credentials | SealedCredentials;
}

class IntegratedRequest extends OwnerRequest implements Integrated {
  @StringMember('an integration handle', { description: 'The integration handle.' })
  readonly integration: string;
}

@ApiSchema({ name: 'GetZones' })
export class GetZonesRequest extends IntegratedRequest implements Request<'get_zones'> {}

/** Only its format is checked here. The policy decides on the rest and writes refusals to the audit log. */
@ApiSchema({ name: 'Record' })
class RecordRequest implements RequestedRecord {
  @StringMember('a name', {
    description: 'The owner name, absolute with or without its dot, as in _acme-challenge.www.example.com.',
  })
  readonly fqdn: string;

  @StringMember('a type of record', {
    enum: recordTypes,
    description: 'No other type is ever touched.',
  })
  readonly type: string;

  @StringMember('a text', {
    description:
      'TXT: the text itself, without quotes, printable ASCII, at most 512 bytes. CAA: 0 issue "ca.example" (RFC 8659, section 4.1.1). CNAME, NS: the name of the target.',
  })
  readonly value: string;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 30,
    maximum: 3_600,
    description: 'Seconds. Default: what the provider takes, at least 60.',
  })
  @ReadBy((ttl) => (Number.isSafeInteger(ttl) ? ttl : Unreadable.because('Must be a whole number.')))
  readonly ttl?: number;

  @ApiPropertyOptional({
    description:
      'Afterwards it is the only one of these types at its name. Default: true for CNAME and NS, false for TXT and CAA.',
  })
  @MayBeAbsent()
  @IsBoolean({ message: 'Must be true or false.' })
  readonly replace?: boolean;
}

@ApiSchema({ name: 'AddRecord' })
export class AddRecordRequest extends IntegratedRequest {
  @ApiProperty()
  @ReadObject(RecordRequest)
  readonly record: RecordRequest;
}

@ApiSchema({ name: 'RemoveRecord' })
export class RemoveRecordRequest extends IntegratedRequest implements Request<'remove_record'> {
  @StringMember('a record handle', {
    description: 'What add_record answered: that record and no other is removed.',
  })
  readonly record_handle: string;
}

/** Schemas of requests; additional properties are not allowed. */
export const requestSchemas = ['MakeIntegration', 'GetZones', 'AddRecord', 'RemoveRecord', 'Record'];
