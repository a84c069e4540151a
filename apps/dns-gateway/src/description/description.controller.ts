import type {
  CredentialKind,
  CredentialMember,
  GatewayDescription,
  ProviderDescription,
  ProviderName,
} from '@certwright/gateway-contract';
import { providerNames } from '@certwright/gateway-contract';
import { Public, requestReading } from '@certwright/service';
import { Controller, Get, Inject, Query } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { CredentialKeys } from '../credentials/credential-keys';
import { plainTypes } from '../credentials/given-credentials';
import { AccountMember } from '../integrations/messages';
import type { DnsProvider } from '../providers/dns-provider';
import { Providers } from '../providers/registry';
import { Describes } from '../wire/openapi';

class DescriptionQuery {
  @AccountMember('Account of the platform, of which external ids are made.') readonly account: string;
}

@ApiSchema({ name: 'CredentialMember' })
class CredentialMemberSchema implements CredentialMember {
  @ApiProperty({ description: 'Of the member.' }) readonly name: string;
  @ApiProperty({ description: 'For people.' }) readonly meaning: string;
  @ApiProperty({ description: 'Not to be shown again.' }) readonly secret: boolean;
  @ApiProperty({ description: 'Credentials without it are refused.' }) readonly required: boolean;
}

@ApiSchema({ name: 'CredentialKind' })
class CredentialKindSchema implements CredentialKind {
  @ApiProperty({ enum: plainTypes, description: 'Of credentials.' }) readonly type: CredentialKind['type'];
  @ApiProperty({ type: [CredentialMemberSchema], description: 'To be filled in.' })
  readonly members: readonly CredentialMemberSchema[];

  @ApiProperty({
    type: String,
    nullable: true,
    description:
      'Of oauth_code: where the browser of the customer is sent; the caller appends its own state. Else null.',
  })
  readonly authorization_url: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Of cloud_account: whom the customer lets in. Else null.',
  })
  readonly principal: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Of cloud_account: the external id to demand of it. Else null.',
  })
  readonly external_id: string | null;
}

@ApiSchema({ name: 'Provider' })
class ProviderSchema implements ProviderDescription {
  @ApiProperty({ enum: providerNames, description: 'As integrations carry it.' }) readonly name: ProviderName;
  @ApiProperty({ description: 'For people.' }) readonly title: string;
  @ApiProperty({ description: 'Least privilege: what to allow, and what not.' }) readonly advice: string;
  @ApiProperty({
    type: [CredentialKindSchema],
    description: 'Ways of giving them; none where the operator has not set up what the provider needs.',
  })
  readonly credentials: readonly CredentialKindSchema[];
}

@ApiSchema({ name: 'Description' })
class DescriptionSchema implements GatewayDescription {
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'JSON Web Key (RFC 7517) that credentials are sealed to.',
  })
  readonly encryption_key: Readonly<Record<string, string>>;

  @ApiProperty({ type: [ProviderSchema], description: 'All that the gateway knows.' })
  readonly providers: readonly ProviderSchema[];
}

/** The information that a customer needs for an integration. Contains no secrets. */
@Public()
@Controller('description')
export class DescriptionController {
  constructor(
    @Inject(CredentialKeys) private readonly credentialKeys: CredentialKeys,
    @Inject(Providers) private readonly providers: Providers,
  ) {}

  @Get()
  @Describes({
    operationId: 'description',
    summary: 'Tells what a customer needs for an integration',
    description: 'Nothing in it is secret.',
    success: DescriptionSchema,
    fails: { bad_query: 'The account is missing, or is not valid' },
  })
  describe(@Query(requestReading) { account }: DescriptionQuery): DescriptionSchema {
    return {
      encryption_key: this.credentialKeys[0].publicJwk,
      providers: [...this.providers.values()].map((provider) => descriptionOf(provider, account)),
    };
  }
}

const descriptionOf = (provider: DnsProvider, account: string): ProviderSchema => ({
  name: provider.name,
  title: provider.title,
  advice: provider.advice,
  credentials: provider.credentialKinds(account),
});
