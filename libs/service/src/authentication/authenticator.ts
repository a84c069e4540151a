import { Problem } from '@certwright/errors';
import type { RequestLimits } from '../limits/request-limits';
import type { TokenBuckets } from '../limits/token-buckets';
import { type PasswordCredentials, readCredentials } from './credentials';
import { FailedAuthentication, ofAddress, ofUserAt, ofUserName } from './failed-authentication';
import { KeyAuthentication } from './key-authentication';
import type { ApiKeys } from './key-cache';
import type { Passwords } from './passwords';
import { isAllowed, type Permission, type RouteAccess } from './route-access';

/** The authenticated caller. */
export interface CallerIdentity {
  readonly accountId: string;
  /** Of the API key; `user:<id>` for a person who signed in with a password. */
  readonly keyId: string;
}

/** Whether the caller signed in with a password, rather than with an API key. */
export const isUser = ({ keyId }: CallerIdentity): boolean => keyId.startsWith(userPrefix);

const userPrefix = 'user:';

export interface Admission {
  readonly authorization: string | undefined;
  /** Key under which the client's address is counted; see `addressKey`. */
  readonly addressKey: string;
  readonly method: string;
  readonly access: Exclude<RouteAccess, { readonly kind: 'public' | 'signed' }>;
}

/** A caller whose credentials are valid. */
interface Admitted extends CallerIdentity {
  /** Subject of error messages. */
  readonly what: 'This API key' | 'This user';
  readonly permissions: readonly string[];
  readonly disabled: boolean;
}

const ofEveryUser: readonly Permission[] = ['Full Access'];

export const methodsThatRead: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Admits a request or throws a Problem: `bad_credentials`, `rate_limited`, `disabled_credentials`, `unauthorized`, or
 * `service_outage` while too many passwords are being checked. Only failures are counted per address and user name;
 * over the limit a failure is 429 instead of 401. A valid API key therefore always works, whatever others try from
 * the same address or with the account's user names. A user who has signed in from an address before is not locked
 * out there by failed attempts of others.
 */
export class Authenticator {
  readonly #failures: FailedAuthentication;
  readonly #keys: KeyAuthentication;
  readonly #familiar: FamiliarAddresses;

  /**
   * @param passwords if absent, API keys are the only credentials
   * @param nowMs monotonic, in milliseconds
   */
  constructor(
    keys: ApiKeys,
    private readonly buckets: TokenBuckets,
    private readonly limits: RequestLimits,
    private readonly passwords?: Passwords,
    nowMs: () => number = () => performance.now(),
  ) {
    this.#failures = new FailedAuthentication(buckets, limits.failedAuthentication, nowMs);
    this.#keys = new KeyAuthentication(keys, this.#failures);
    this.#familiar = new FamiliarAddresses(nowMs);
  }

  async admit({ authorization, addressKey, method, access }: Admission): Promise<CallerIdentity> {
    const admitted = await this.#credentialsOf(authorization, addressKey);
    const { what, accountId, keyId, permissions } = admitted;
    if (admitted.disabled) throw new Problem('disabled_credentials', `${what} is disabled.`);
    await this.#count(admitted, method);
    if (access.kind === 'permission' && !isAllowed(permissions, access.anyOf)) {
      const needed = access.anyOf.map((permission) => `"${permission}"`).join(' or ');
      throw new Problem('unauthorized', `${what} lacks the permission ${needed}.`);
    }
    return { accountId, keyId };
  }

  async #credentialsOf(authorization: string | undefined, addressKey: string): Promise<Admitted> {
    const credentials = readCredentials(authorization, { passwords: this.passwords !== undefined });
    switch (credentials.kind) {
      case 'none':
        // Not counted: clients that wait for the challenge (RFC 9110 §11.6.1) begin every request like this.
        throw new Problem('bad_credentials', this.#needed());
      case 'password':
        return await this.#user(credentials, addressKey);
      case 'key':
      case 'malformed':
        return { ...(await this.#keys.identify(credentials, addressKey)), what: 'This API key' };
    }
  }

  async #user(credentials: PasswordCredentials, addressKey: string): Promise<Admitted> {
    const { userName } = credentials;
    const isFamiliar = this.#familiar.has(userName, addressKey);
    const origins = isFamiliar
      ? [ofUserAt(userName, addressKey)]
      : [ofAddress(addressKey), ofUserName(userName)];
    this.#failures.refuseOverLimit(origins);
    const user = await this.passwords?.find(
      credentials,
      async (check) => await this.#failures.guess(origins, check),
    );
    if (!user)
      throw new Problem('bad_credentials', 'There is no user with this name, or the password is wrong.');
    this.#familiar.add(userName, addressKey);
    const { userId, accountId, disabled } = user;
    return {
      accountId,
      keyId: `${userPrefix}${userId}`,
      disabled,
      what: 'This user',
      permissions: ofEveryUser,
    };
  }

  #needed(): string {
    const key = 'an API key: as a Bearer token, or as the user name of Basic authentication';
    return this.passwords === undefined
      ? `This needs ${key}.`
      : `This needs ${key} with an empty password; or user name and password.`;
  }

  async #count({ keyId, what }: Admitted, method: string): Promise<void> {
    const kind = methodsThatRead.has(method) ? 'reads' : 'writes';
    const rate = this.limits[kind];
    const taken = await this.buckets.take(`${kind}:${keyId}`, { ...rate, cost: 1 });
    if (taken.ok) return;
    const { retryAfterS } = taken;
    throw new Problem(
      'rate_limited',
      `${what} may send ${rate.ratePerS} ${kind} a second; the next one is due in ${retryAfterS} s.`,
      {
        retryAfterS,
      },
    );
  }
}

/** How long an address is remembered after its user has signed in from it: two days, in milliseconds. */
const familiarMs = 48 * 3_600_000;

/** Maximum number of pairs of user and address, about 400 bytes each. The oldest sign-in is dropped first. */
const maxPairs = 10_000;

/**
 * Addresses from which users have signed in. Failed attempts from elsewhere can block a user name, but not at these
 * addresses: otherwise anyone who knows a user name could lock its owner out.
 */
class FamiliarAddresses {
  /** Pair → expiry; the oldest first. */
  readonly #untilMs = new Map<string, number>();

  /** @param nowMs monotonic, in milliseconds */
  constructor(private readonly nowMs: () => number) {}

  has(userName: string, addressKey: string): boolean {
    return (this.#untilMs.get(keyOf(userName, addressKey)) ?? -Infinity) > this.nowMs();
  }

  /** Records a successful sign-in. */
  add(userName: string, addressKey: string): void {
    const key = keyOf(userName, addressKey);
    this.#untilMs.delete(key);
    this.#untilMs.set(key, this.nowMs() + familiarMs);
    for (const [oldest, untilMs] of this.#untilMs) {
      if (untilMs > this.nowMs() && this.#untilMs.size <= maxPairs) break;
      this.#untilMs.delete(oldest);
    }
  }
}

/** Neither part can contain a NUL. */
const keyOf = (userName: string, addressKey: string): string => `${userName}\0${addressKey}`;
