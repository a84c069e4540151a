import { randomBytes } from 'node:crypto';
import { ApiCredentials, type FreshApiKey } from '@certwright/accounts';
import { SealBroken } from '@certwright/sealing';
import { apiKeySha256, type CallerIdentity, isUser, mintApiKey } from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { CertsConfig } from '../config';
import { Refusal } from '../wire/reasons';

/** Of a nonce of the sealing keys. */
const nonceBytes = 12;

/** Context of the sealed key; another account's context does not open it. */
const contextOf = (accountId: string) => `api-credential:${accountId}`;

@ApiSchema({ name: 'ApiCredentials' })
export class ApiCredentialsJson {
  @ApiProperty() api_key: string;
}

/** How a program gets its API key: its user gives name and password once. */
@Injectable()
export class RetrieveApiKey {
  constructor(
    private readonly credentials: ApiCredentials,
    @Inject(CertsConfig) private readonly config: Pick<CertsConfig, 'SEALING_KEYS'>,
  ) {}

  /** The account's one key for this purpose. @throws Refusal `unauthorized` to a program that has a key already */
  async run(caller: CallerIdentity): Promise<string> {
    if (!isUser(caller)) {
      throw new Refusal('unauthorized', 'The API key is returned to users who send user name and password.');
    }
    const { accountId } = caller;
    const opens = (sealed: Buffer) => this.open(sealed, accountId) !== null;
    const sealed = await this.credentials.ensure(accountId, { opens, mint: () => this.mint(accountId) });
    return this.config.SEALING_KEYS.open(sealed, contextOf(accountId));
  }

  private mint(accountId: string): FreshApiKey {
    const key = mintApiKey(accountId, randomBytes);
    return {
      label: 'api_credentials',
      permissions: ['Full Access'],
      secretSha256: apiKeySha256(key),
      keySealed: this.config.SEALING_KEYS.seal(key, contextOf(accountId), randomBytes(nonceBytes)),
    };
  }

  /** @returns null when the key that sealed it is gone */
  private open(sealed: Buffer, accountId: string): string | null {
    try {
      return this.config.SEALING_KEYS.open(sealed, contextOf(accountId));
    } catch (error) {
      if (error instanceof SealBroken) return null;
      throw error;
    }
  }
}
