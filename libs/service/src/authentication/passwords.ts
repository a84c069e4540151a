import { createHmac, randomBytes } from 'node:crypto';
import { Problem } from '@certwright/errors';
import { InProgress } from '../limits/in-progress';
import { Turns } from '../limits/turns';
import type { PasswordCredentials } from './credentials';
import { fitsPassword, unknownPasswordHash } from './password-hash';

/** A user who may sign in. */
export interface KnownUser {
  readonly userId: string;
  readonly accountId: string;
  /** `scrypt:N:r:p:salt:hash`. */
  readonly passwordHash: string;
  readonly disabled: boolean;
}

/** Looks up users, on every request. Rejects when the lookup fails. */
export interface Users {
  /** @param userName in lower case; `null` when there is no such user */
  find(userName: string): Promise<KnownUser | null>;
}

export interface PasswordOptions {
  /** How long a correct password is accepted without another check; at most 60,000. */
  readonly rememberedMs?: number;
  /** Maximum number of remembered passwords, about 150 bytes each. */
  readonly maxRemembered?: number;
  /** Monotonic, in milliseconds. */
  readonly nowMs?: () => number;
  /** Whether a password matches a stored hash; slow. */
  readonly fits?: (password: string, stored: string) => Promise<boolean>;
}

/** Runs a costly check and returns its result, or throws to refuse it. */
export type Guess = (check: () => Promise<boolean>) => Promise<boolean>;

/** Checks at the same time: two of libuv's four threads and 64 MiB. */
const checksAtOnce = 2;

/** Checks that wait behind them: they end within a second. */
const maxWaitingChecks = 16;

/** Seconds before a refused check is repeated. */
const retryAfterS = 2;

/**
 * Checks passwords at a bounded cost. A correct password is remembered for a while, together with the hash it
 * matched, as a MAC under a key of this process, so that memory holds no password. An unknown user costs as much as a
 * known one.
 */
export class Passwords {
  readonly #options: Required<PasswordOptions>;
  readonly #checks = new InProgress(checksAtOnce + maxWaitingChecks);
  readonly #turns = new Turns({ atOnce: checksAtOnce, atOnceOfAccount: checksAtOnce });
  readonly #key = randomBytes(32);
  readonly #unknownHash = unknownPasswordHash();
  /** MAC → expiry, oldest first. */
  readonly #remembered = new Map<string, number>();
  readonly #pending = new Map<string, Promise<boolean>>();

  constructor(
    private readonly users: Users,
    options: PasswordOptions = {},
  ) {
    this.#options = {
      rememberedMs: 60_000,
      maxRemembered: 1_000,
      nowMs: () => performance.now(),
      fits: fitsPassword,
      ...options,
    };
  }

  /**
   * @param guess wraps every check whose result is not remembered; concurrent requests with the same credentials
   * share one
   * @returns the user; `null` when there is none, or the password is wrong
   * @throws Problem `service_outage` while too many passwords are being checked, and whatever `guess` throws
   */
  async find(credentials: PasswordCredentials, guess: Guess): Promise<KnownUser | null> {
    const user = await this.users.find(credentials.userName);
    const isRight = await this.#check(credentials, user?.passwordHash ?? this.#unknownHash, guess);
    return isRight ? user : null;
  }

  async #check(
    { userName, password }: PasswordCredentials,
    passwordHash: string,
    guess: Guess,
  ): Promise<boolean> {
    // None of the three can contain a NUL.
    const mac = createHmac('sha256', this.#key)
      .update(`${passwordHash}\0${userName}\0${password}`)
      .digest('base64');
    if ((this.#remembered.get(mac) ?? -Infinity) > this.#options.nowMs()) return true;
    for (let underWay = this.#pending.get(mac); underWay !== undefined; underWay = this.#pending.get(mac)) {
      // Refused: that says nothing of this request, which may come from another address.
      const isRight = await underWay.catch(() => null);
      if (isRight !== null) return isRight;
    }
    const check = guess(() => this.#inTurn(() => this.#options.fits(password, passwordHash)))
      .then((isRight) => {
        if (isRight) this.#remember(mac);
        return isRight;
      })
      .finally(() => this.#pending.delete(mac));
    this.#pending.set(mac, check);
    return await check;
  }

  /** All users share the turns: the account is not known before the check. */
  async #inTurn(check: () => Promise<boolean>): Promise<boolean> {
    const leave = this.#checks.begin('');
    if (leave === null) {
      const message = 'Too many passwords are being checked at the moment.';
      throw new Problem('service_outage', message, { retryAfterS });
    }
    const end = await this.#turns.begin('');
    try {
      return await check();
    } finally {
      end();
      leave();
    }
  }

  #remember(mac: string): void {
    const { nowMs, rememberedMs, maxRemembered } = this.#options;
    this.#remembered.delete(mac);
    this.#remembered.set(mac, nowMs() + rememberedMs);
    for (const [oldest, untilMs] of this.#remembered) {
      if (untilMs > nowMs() && this.#remembered.size <= maxRemembered) break;
      this.#remembered.delete(oldest);
    }
  }
}
