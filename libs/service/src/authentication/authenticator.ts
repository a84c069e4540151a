import { Problem } from '@certwright/errors';
import type { RequestLimits } from '../limits/request-limits';
import type { TokenBuckets } from '../limits/token-buckets';
import { type PasswordCredentials, readCredentials } from './credentials';
import { FailedAuthentication, ofAddress, ofUserAt, ofUserName } from './failed-authentication';
import { KeyAuthentication } from './key-authentication';
import type { ApiKeys } from './key-cache';
import type { Passwords } from './passwords';
import { isAllowed, type Permission, type RouteAccess } from './route-access';

/** Who calls. */
export interface CallerIdentity {
  readonly accountId: string;
  /** Of the API key; `user:<id>` for a person who signed in with a password. */
  readonly keyId: string;
}

/** Whether a person called, who knows the password of the account, and not a program with an API key. */
export const isUser = ({ keyId }: CallerIdentity): boolean => keyId.startsWith(userPrefix);

const userPrefix = 'user:';

export interface Admission {
  readonly authorization: string | undefined;
  /** The client's address as it is counted; see `addressKey`. */
  readonly addressKey: string;
  readonly method: string;
  readonly access: Exclude<RouteAccess, { readonly kind: 'public' }>;
}

/** Whose credentials were right. */
interface Admitted extends CallerIdentity {
  /** As people call them, with a capital. */
  readonly what: 'This API key' | 'This user';
  readonly permissions: readonly string[];
  readonly disabled: boolean;
}

const ofEveryUser: readonly Permission[] = ['Full Access'];

export const methodsThatRead: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Lets a request in or throws the Problem that says why not: `bad_credentials`, `rate_limited`, `disabled_credentials`,
 * `unauthorized`, or `service_outage` while too many passwords are being checked. A valid API key works from every
 * address, also from one where somebody else has tried many wrong ones, and whatever is tried with its account's user
 * names: only failures are counted there, and over the limit a failure is answered 429 in place of 401. A user who has
 * signed in from an address before is not locked out there by what is tried elsewhere, nor by wrong credentials of others
 * from the same address.
 */
export class Authenticator {
  readonly #failures: FailedAuthentication;
  readonly #keys: KeyAuthentication;
  readonly #familiar: FamiliarAddresses;

  /**
   * @param passwords without them API keys are the only credentials
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

/** How long an address is familiar after its user has signed in there: two days, in milliseconds. */
const familiarMs = 48 * 3_600_000;

/** Most pairs of user and address, about 400 bytes each; the one that signed in longest ago is forgotten first. */
const mostPairs = 10_000;

/**
 * From where users have signed in. Somebody who tries passwords elsewhere can have everything refused that comes for a
 * user's name, but not what comes from here: otherwise whoever knows a name could lock its owner out.
 */
class FamiliarAddresses {
  /** Pair → until when; the oldest first. */
  readonly #untilMs = new Map<string, number>();

  /** @param nowMs monotonic, in milliseconds */
  constructor(private readonly nowMs: () => number) {}

  has(userName: string, addressKey: string): boolean {
    return (this.#untilMs.get(keyOf(userName, addressKey)) ?? -Infinity) > this.nowMs();
  }

  /** The user has signed in there. */
  add(userName: string, addressKey: string): void {
    const key = keyOf(userName, addressKey);
    this.#untilMs.delete(key);
    this.#untilMs.set(key, this.nowMs() + familiarMs);
    for (const [oldest, untilMs] of this.#untilMs) {
      if (untilMs > this.nowMs() && this.#untilMs.size <= mostPairs) break;
      this.#untilMs.delete(oldest);
    }
  }
}

/** Neither part can hold a NUL. */
const keyOf = (userName: string, addressKey: string): string => `${userName}\0${addressKey}`;
