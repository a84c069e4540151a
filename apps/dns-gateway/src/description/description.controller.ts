import { Controller, Get, Query } from '@nestjs/common';
import { type GatewayDescription, type ProviderDescription } from '@certwright/gateway-contract';
import { Problem } from '@certwright/errors';
import { Public } from '@certwright/service';
import type { DnsProvider } from '../providers/dns-provider';
import { isAccount } from '../integrations/messages-reader';
import { Describing } from './describing';

/** What a customer needs for an integration. Nothing in it is secret. */
@Public()
@Controller('description')
export class DescriptionController {
  constructor(private readonly describing: Describing) {}

  @Get()
  describe(@Query('account') account: unknown): GatewayDescription {
    if (!isAccount(account)) {
      const message = 'Must be one account, of 1 to 128 printable characters without spaces.';
      const code = account === undefined ? 'missing_field' : 'invalid_value';
      throw new Problem('bad_query', 'The query cannot be answered as it stands: see account.', {
        faults: [{ field: 'account', code, message }],
      });
    }
    const { credentialKeys, providers } = this.describing;
    return {
      encryption_key: credentialKeys[0].publicJwk,
      providers: [...providers.values()].map((provider) => descriptionOf(provider, account)),
    };
  }
}

const descriptionOf = (provider: DnsProvider, account: string): ProviderDescription => ({
  name: provider.name,
  title: provider.title,
  advice: provider.advice,
  credentials: provider.credentialKinds(account),
});
