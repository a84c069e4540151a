import {
  type Credentials,
  type ProviderName,
  providerNames,
  type SealedCredentials,
} from '@certwright/gateway-contract';
import { ReadBy, TextLine, Unreadable } from '@certwright/service';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { IsDefined, IsIn } from 'class-validator';

/** No provider needs a third of it. */
const maxCredentialMembers = 32;

const openTypes = ['bearer', 'oauth_code', 'cloud_account'];

/** RFC 7516, section 7.1: five parts in base64url, of which the encrypted key may be empty for some algorithms. */
const compactJwe = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+){3}$/;

/** The body of a POST. The gateway checks what each provider needs. */
@ApiSchema({ name: 'DnsIntegrationRequestSchema' })
export class IntegrationRequest {
  @ApiProperty({ enum: providerNames })
  @IsIn(providerNames, { message: `It must be one of ${providerNames.join(', ')}.` })
  @IsDefined({ message: 'A DNS integration needs a provider.' })
  provider: ProviderName;

  @TextLine()
  description = '';

  @ApiProperty({
    type: 'object',
    properties: { type: { type: 'string', enum: [...openTypes, 'sealed'] } },
    required: ['type'],
    additionalProperties: { type: 'string' },
    example: { type: 'bearer', token: '…' },
    description:
      'As dns_providers describes for each provider; every member is a string. Or sealed: only `jwe`, a compact JWE over {account, provider, credentials, issued_at}. They are sent to the DNS gateway, and neither stored nor logged here.',
  })
  @ReadBy(readCredentials)
  @IsDefined({ message: 'A DNS integration needs credentials of its provider.' })
  credentials: Credentials | SealedCredentials;
}

/** No message repeats anything of the credentials, names of members included: a secret may be in the wrong place. */
function readCredentials(sent: unknown): unknown {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent))
    return Unreadable.because('It must be an object with a type.');
  const credentials = sent as Readonly<Record<string, unknown>>;
  const faults = faultsIn(credentials);
  return faults.length === 0 ? credentials : new Unreadable(faults);
}

type Fault = Unreadable['faults'][number];

function faultsIn(credentials: Readonly<Record<string, unknown>>): readonly Fault[] {
  const { type } = credentials;
  if (type === 'sealed') return faultsInSealed(credentials);
  if (type === undefined) return [missing('credentials.type', 'The type of the credentials is missing.')];
  if (!openTypes.some((known) => known === type))
    return [invalid('credentials.type', `It must be one of ${openTypes.join(', ')}, sealed.`)];
  const members = Object.values(credentials);
  if (members.length > maxCredentialMembers)
    return [invalid('credentials', `It has more than ${maxCredentialMembers} members.`)];
  const areTexts = members.every((value) => typeof value === 'string');
  return areTexts ? [] : [invalid('credentials', 'Every member of it must be a string.')];
}

/** Other members are refused: a secret in them would not be sealed. */
function faultsInSealed({ type: _, jwe, ...others }: Readonly<Record<string, unknown>>): readonly Fault[] {
  const extra =
    Object.keys(others).length === 0 ? [] : [invalid('credentials', 'It may have only type and jwe.')];
  if (jwe === undefined)
    return [missing('credentials.jwe', 'A sealed credential is a compact JWE (RFC 7516).'), ...extra];
  if (typeof jwe !== 'string' || !compactJwe.test(jwe))
    return [invalid('credentials.jwe', 'It is not a compact JWE (RFC 7516).'), ...extra];
  return extra;
}

const invalid = (field: string, message: string): Fault => ({ field, code: 'invalid_value', message });
const missing = (field: string, message: string): Fault => ({ field, code: 'missing_field', message });
