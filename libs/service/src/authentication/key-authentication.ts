import { Problem } from '@certwright/errors';
import { apiKeySha256 } from './api-key';
import { type Credentials, readCredentials } from './credentials';
import { type FailedAuthentication, ofAddress } from './failed-authentication';
import type { ApiKeys, KnownApiKey } from './key-cache';

/**
 * Finds the API key of a request. A valid key always works; only failures are counted per address, and over the limit
 * a failure is 429 instead of 401.
 */
export class KeyAuthentication<Key extends KnownApiKey = KnownApiKey> {
  constructor(
    private readonly keys: ApiKeys<Key>,
    private readonly failures: FailedAuthentication,
  ) {}

  /**
   * For an API in which keys are the only credentials, and optional.
   *
   * @returns the key, disabled or not; `null` without an `Authorization` header
   * @throws Problem as `identify`
   */
  async presented(authorization: string | undefined, addressKey: string): Promise<Key | null> {
    const credentials = readCredentials(authorization);
    return credentials.kind === 'none' ? null : await this.identify(credentials, addressKey);
  }

  /** @throws Problem `bad_credentials` or `rate_limited` unless the credentials are a key that exists */
  async identify(credentials: Credentials, addressKey: string): Promise<Key> {
    const key = credentials.kind === 'key' ? await this.keys.find(apiKeySha256(credentials.apiKey)) : null;
    if (key !== null) return key;
    const unknown = new Problem('bad_credentials', 'There is no such API key.');
    throw await this.failures.refusal(ofAddress(addressKey), unknown);
  }
}
