import { type CoreAccounts, CoreAway } from './core-accounts';
import { type SearchKey } from './search-key';
import { Problem } from '@certwright/errors';
import type { ApiKeys } from '@certwright/service';

/** Seconds after which a caller may try again. */
const outageRetryAfterS = 5;

/** The keys of the core database, as a request asks for them. */
export class SearchKeys implements ApiKeys<SearchKey> {
  constructor(private readonly accounts: Pick<CoreAccounts, 'findSearchKey'>) {}

  /** @throws Problem `service_outage` while the database cannot be asked */
  async find(secretSha256: Buffer): Promise<SearchKey | null> {
    try {
      return await this.accounts.findSearchKey(secretSha256);
    } catch (error) {
      if (!(error instanceof CoreAway)) throw error;
      throw new Problem('service_outage', 'API keys cannot be looked up at present. Please try again.', {
        retryAfterS: outageRetryAfterS,
      });
    }
  }
}
