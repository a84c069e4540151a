import { type ProviderName, providerNames } from '@certwright/gateway-contract';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

export class CredentialMemberSchema {
  @ApiProperty({ example: 'token' })
  name: string;

  @ApiProperty({ description: 'For people.' })
  meaning: string;

  @ApiProperty()
  secret: boolean;

  @ApiProperty()
  required: boolean;
}

export class CredentialKindSchema {
  @ApiProperty({ enum: ['bearer', 'oauth_code', 'cloud_account'] })
  type: string;

  @ApiProperty({ type: [CredentialMemberSchema] })
  members: CredentialMemberSchema[];

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Of oauth_code: where to send the browser; append a state of your own.',
  })
  authorization_url: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Of cloud_account: whom to let in.' })
  principal: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Of cloud_account: what to demand of it.' })
  external_id: string | null;
}

export class DnsProviderSchema {
  @ApiProperty({ enum: providerNames })
  name: ProviderName;

  @ApiProperty({ example: 'Cloudflare' })
  title: string;

  @ApiProperty({ description: 'The least that the credentials must be allowed to do.' })
  advice: string;

  @ApiProperty({
    type: [CredentialKindSchema],
    description: 'Empty: the operator has not set up what this provider needs.',
  })
  credentials: CredentialKindSchema[];
}

export class DnsProvidersSchema {
  @ApiProperty({
    type: 'object',
    nullable: true,
    additionalProperties: { type: 'string' },
    description:
      'JSON Web Key (RFC 7517) to which credentials can be sealed, with ECDH-ES+A256KW and A256GCM, so that nobody but the DNS gateway reads them. null: this deployment has no gateway.',
  })
  encryption_key: Record<string, string> | null;

  @ApiProperty({ type: [DnsProviderSchema] })
  providers: DnsProviderSchema[];
}

/** The body of a POST. */
export class DnsIntegrationRequestSchema {
  @ApiProperty({ enum: providerNames })
  provider: ProviderName;

  @ApiPropertyOptional({ maxLength: 255, default: '', description: 'For people.' })
  description: string;

  @ApiProperty({
    type: 'object',
    properties: { type: { type: 'string', enum: ['bearer', 'oauth_code', 'cloud_account', 'sealed'] } },
    required: ['type'],
    additionalProperties: { type: 'string' },
    example: { type: 'bearer', token: '…' },
    description:
      'As dns_providers tells for each provider; every member is a string. Or sealed: only `jwe`, a compact JWE over {account, provider, credentials, issued_at}. They are handed on to the DNS gateway, and neither stored nor logged here.',
  })
  credentials: Record<string, string>;
}

export class DnsZoneSchema {
  @ApiProperty({ description: "The provider's own." })
  id: string;

  @ApiProperty({ example: 'example.com' })
  name: string;
}

/** A DNS integration as it is answered. */
export class DnsIntegrationSchema {
  @ApiProperty({ type: 'integer', maximum: Number.MAX_SAFE_INTEGER })
  id: number;

  @ApiProperty({ enum: providerNames })
  provider: ProviderName;

  @ApiProperty()
  description: string;

  @ApiProperty({ enum: ['ok', 'failing'], description: 'failing: the provider refused what it was asked.' })
  state: string;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'What is wrong, for people; null while it works.',
  })
  problem: string | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When the provider last answered.',
  })
  checked_at: string | null;

  @ApiProperty({ format: 'date-time' })
  created_at: string;

  @ApiPropertyOptional({ type: [DnsZoneSchema], description: 'Expandable. As they were listed last.' })
  zones: DnsZoneSchema[];
}
