import { Problem } from '@certwright/errors';
import type { RequestLimits } from '../limits/request-limits';
import type { TokenBuckets } from '../limits/token-buckets';
import { apiKeySha256 } from './api-key';
import { readCredentials } from './credentials';
import type { ApiKeys, KnownApiKey } from './key-cache';
import { isAllowed } from './permissions';
import type { RouteAccess } from './route-access';

/** Who calls. */
export interface CallerIdentity {
  readonly accountId: string;
  readonly keyId: string;
}

export interface Admission {
  readonly authorization: string | undefined;
  /** The client's address as it is counted; see `addressKey`. */
  readonly addressKey: string;
  readonly method: string;
  readonly access: Exclude<RouteAccess, { readonly kind: 'public' }>;
}

const methodsThatRead: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Lets a request in or throws the Problem that says why not: `bad_credentials`, `rate_limited`, `disabled_credentials`
 * or `unauthorized`. Valid credentials work from every address, also from one where somebody else has tried many wrong
 * ones: only failures are counted there, and over the limit a failure is answered 429 in place of 401.
 */
export class Authenticator {
  constructor(
    private readonly keys: ApiKeys,
    private readonly buckets: TokenBuckets,
    private readonly limits: RequestLimits,
  ) {}

  async admit({ authorization, addressKey, method, access }: Admission): Promise<CallerIdentity> {
    const credentials = readCredentials(authorization);
    if (credentials.kind === 'none') {
      // Not counted: clients that wait for the challenge (RFC 9110 §11.6.1) begin every request like this.
      throw new Problem(
        'bad_credentials',
        'This needs an API key: as a Bearer token, or as the user name of Basic authentication.',
      );
    }
    const key = credentials.kind === 'key' ? await this.keys.find(apiKeySha256(credentials.apiKey)) : null;
    if (key === null) throw await this.#refusal(addressKey);
    if (key.disabled) throw new Problem('disabled_credentials', 'This API key is disabled.');
    await this.#count(key, method);
    if (access.kind === 'permission' && !isAllowed(key.permissions, access.anyOf)) {
      const needed = access.anyOf.map((permission) => `"${permission}"`).join(' or ');
      throw new Problem('unauthorized', `This API key lacks the permission ${needed}.`);
    }
    return { accountId: key.accountId, keyId: key.keyId };
  }

  async #refusal(addressKey: string): Promise<Problem> {
    const taken = await this.buckets.take(`failed-authentication:${addressKey}`, {
      ...this.limits.failedAuthentication,
      cost: 1,
    });
    if (taken.ok) return new Problem('bad_credentials', 'There is no such API key.');
    const { retryAfterS } = taken;
    return new Problem(
      'rate_limited',
      `Too many wrong credentials came from this address; the next try is looked at in ${retryAfterS} s.`,
      {
        retryAfterS,
      },
    );
  }

  async #count({ keyId }: KnownApiKey, method: string): Promise<void> {
    const kind = methodsThatRead.has(method) ? 'reads' : 'writes';
    const rate = this.limits[kind];
    const taken = await this.buckets.take(`${kind}:${keyId}`, { ...rate, cost: 1 });
    if (taken.ok) return;
    const { retryAfterS } = taken;
    throw new Problem(
      'rate_limited',
      `This API key may send ${rate.ratePerS} ${kind} a second; the next one is due in ${retryAfterS} s.`,
      {
        retryAfterS,
      },
    );
  }
}
