import type { DnsIntegration } from '@certwright/dns-integrations';
import {
  type CredentialKind,
  type GatewayDescription,
  type ProviderName,
  providerNames,
  type Zone,
} from '@certwright/gateway-contract';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { messageOfOutcome } from '../wire/outcome-messages';
import { timestamp } from '../wire/timestamp';

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
  type: CredentialKind['type'];

  @ApiProperty({ type: [CredentialMemberSchema] })
  members: readonly CredentialMemberSchema[];

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Of oauth_code: where to send the browser; append a state of your own.',
  })
  authorization_url: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Of cloud_account: principal to grant access to.',
  })
  principal: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Of cloud_account: external id to require of it.',
  })
  external_id: string | null;
}

export class DnsProviderSchema {
  @ApiProperty({ enum: providerNames })
  name: ProviderName;

  @ApiProperty({ example: 'Cloudflare' })
  title: string;

  @ApiProperty({ description: 'Minimum permissions of the credentials.' })
  advice: string;

  @ApiProperty({
    type: [CredentialKindSchema],
    description: 'Empty: the operator has not set up what this provider needs.',
  })
  credentials: readonly CredentialKindSchema[];
}

export class DnsProvidersSchema {
  @ApiProperty({
    type: 'object',
    nullable: true,
    additionalProperties: { type: 'string' },
    description:
      'JSON Web Key (RFC 7517) to which credentials can be sealed, with ECDH-ES+A256KW and A256GCM, so that only the DNS gateway can read them. null: this deployment has no gateway.',
  })
  encryption_key: Readonly<Record<string, string>> | null;

  @ApiProperty({ type: [DnsProviderSchema] })
  providers: readonly DnsProviderSchema[];
}

export class DnsZoneSchema {
  @ApiProperty({ description: "The provider's own." })
  id: string;

  @ApiProperty({ example: 'example.com' })
  name: string;
}

/** A DNS integration in a response. */
export class DnsIntegrationSchema {
  @ApiProperty({ type: 'integer', maximum: Number.MAX_SAFE_INTEGER })
  id: number;

  @ApiProperty({ enum: providerNames })
  provider: ProviderName;

  @ApiProperty()
  description: string;

  @ApiProperty({ enum: ['ok', 'failing'], description: 'failing: the provider refused a request.' })
  state: DnsIntegration['state'];

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
    description: 'When the provider last responded.',
  })
  checked_at: string | null;

  @ApiProperty({ format: 'date-time' })
  created_at: string;

  @ApiPropertyOptional({ type: [DnsZoneSchema], description: 'Expandable. As they were listed last.' })
  zones?: readonly DnsZoneSchema[];
}

/** @param zones null: they are not expanded */
export function integrationJson(
  integration: DnsIntegration,
  zones: readonly Zone[] | null,
): DnsIntegrationSchema {
  return {
    // Ids fit the integers of JSON's numbers: a constraint of the table.
    id: Number(integration.id),
    provider: integration.provider,
    description: integration.description,
    state: integration.state,
    problem: messageOfOutcome(integration.problem),
    checked_at: timestamp(integration.checkedAt),
    created_at: timestamp(integration.createdAt),
    zones: zones?.map(zoneJson),
  };
}

export function zoneJson({ id, name }: Zone): DnsZoneSchema {
  return { id, name };
}

/** The gateway's description has the members of this API. @param description null: there is no gateway */
export function providersJson(description: GatewayDescription | null): DnsProvidersSchema {
  return {
    encryption_key: description?.encryption_key ?? null,
    providers: description?.providers ?? [],
  };
}
