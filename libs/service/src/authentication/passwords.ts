import { createHmac, randomBytes } from 'node:crypto';
import { BoundedTurns, type TurnBounds } from './bounded-turns';
import type { PasswordCredentials } from './credentials';
import { fitsPassword, unknownPasswordHash } from './password-hash';

/** What is known of a person who may sign in. */
export interface KnownUser {
  readonly userId: string;
  readonly accountId: string;
  /** `scrypt:N:r:p:salt:hash`. */
  readonly passwordHash: string;
  readonly disabled: boolean;
}

/** Where users are looked up, for every request anew. Rejects when it cannot answer. */
export interface Users {
  /** @param userName in lower case; `null` when there is no such user */
  find(userName: string): Promise<KnownUser | null>;
}

export interface PasswordOptions {
  /** How long a password that fitted is taken for right without another look; 60,000 at most. */
  readonly rememberedMs?: number;
  /** Most passwords that are remembered, about 150 bytes each. */
  readonly mostRemembered?: number;
  readonly bounds?: TurnBounds;
  /** Monotonic, in milliseconds. */
  readonly nowMs?: () => number;
  /** Whether a password fits a stored hash; takes long. */
  readonly fits?: (password: string, stored: string) => Promise<boolean>;
}

/** Runs a costly check and answers what it does, unless it refuses to run it at all, by throwing. */
export type Guess = (check: () => Promise<boolean>) => Promise<boolean>;

/** Two of libuv's four threads and 64 MiB; those who wait get their turn within a second. */
const defaultBounds: TurnBounds = { atOnce: 2, waiting: 16 };

/**
 * Checks passwords at a bounded cost. A password that fitted is remembered for a while, together with the very hash it
 * fitted: as a MAC under a key that the process never tells, so that its memory holds no password. A user who does not
 * exist takes the same way as one who does.
 */
export class Passwords {
  readonly #options: Required<Omit<PasswordOptions, 'bounds'>>;
  readonly #turns: BoundedTurns;
  readonly #key = randomBytes(32);
  readonly #hashOfNobody = unknownPasswordHash();
  /** MAC → until when, oldest first. */
  readonly #remembered = new Map<string, number>();
  readonly #pending = new Map<string, Promise<boolean>>();

  constructor(
    private readonly users: Users,
    { bounds = defaultBounds, ...options }: PasswordOptions = {},
  ) {
    this.#turns = new BoundedTurns(bounds);
    this.#options = {
      rememberedMs: 60_000,
      mostRemembered: 1_000,
      nowMs: () => performance.now(),
      fits: fitsPassword,
      ...options,
    };
  }

  /**
   * @param guess around every check that is not remembered; requests with the same credentials at the same time share one
   * @returns the user; `null` when there is none, or the password is wrong
   * @throws Problem `service_outage` while too many passwords are being checked, and whatever `guess` throws
   */
  async find(credentials: PasswordCredentials, guess: Guess): Promise<KnownUser | null> {
    const user = await this.users.find(credentials.userName);
    const isRight = await this.#check(credentials, user?.passwordHash ?? this.#hashOfNobody, guess);
    return isRight ? user : null;
  }

  async #check(
    { userName, password }: PasswordCredentials,
    passwordHash: string,
    guess: Guess,
  ): Promise<boolean> {
    // None of the three can hold a NUL.
    const mac = createHmac('sha256', this.#key)
      .update(`${passwordHash}\0${userName}\0${password}`)
      .digest('base64');
    if ((this.#remembered.get(mac) ?? -Infinity) > this.#options.nowMs()) return true;
    const underWay = this.#pending.get(mac);
    if (underWay !== undefined) return await underWay;
    const check = guess(() => this.#turns.run(() => this.#options.fits(password, passwordHash)))
      .then((isRight) => {
        if (isRight) this.#remember(mac);
        return isRight;
      })
      .finally(() => this.#pending.delete(mac));
    this.#pending.set(mac, check);
    return await check;
  }

  #remember(mac: string): void {
    const { nowMs, rememberedMs, mostRemembered } = this.#options;
    this.#remembered.delete(mac);
    this.#remembered.set(mac, nowMs() + rememberedMs);
    for (const [oldest, untilMs] of this.#remembered) {
      if (untilMs > nowMs() && this.#remembered.size <= mostRemembered) break;
      this.#remembered.delete(oldest);
    }
  }
}
