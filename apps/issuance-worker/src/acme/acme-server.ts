import { isProblem, notAcme } from './acme-fault';
import { AcmeAccount } from './acme-account';
import { HttpsClient } from './connection/https-client';
import { UrlPolicy } from './connection/url-policy';
import { jsonOf } from './conversation/response';
import { Conversation } from './conversation/conversation';
import type { Directory } from './conversation/directory';
import type { AcmeObserver } from './conversation/observer';
import { defaultRepeats, type RepeatOptions } from './conversation/repeats';
import { type AcmeAccountState, readAccount } from './resources/account';
import { readRenewalInfo, type RenewalInfo } from './resources/renewal-info';
import { readRetryAfter } from './retry-after';
import type { AccountKey } from './signing/account-key';
import { bindExternalAccount, type ExternalAccount } from './signing/external-account';

export interface AcmeServerOptions {
  readonly directoryUrl: string;
  /** PEM, besides Node's own roots; for private CAs. */
  readonly extraRoots?: readonly string[];
  /** Further hosts allowed besides the directory's: `host` (port 443) or `host:port`. Default: none. */
  readonly allowedHosts?: readonly string[];
  /** Milliseconds: until connected with TLS; until the header, and between parts of the body; for an operation in all. */
  readonly timeouts: { readonly connectMs: number; readonly headersMs: number; readonly wholeMs: number };
  /** Max bytes of a body: JSON (262,144 fit an order of 100 names with a problem each), a PEM chain (65,536). */
  readonly maxBytes: { readonly json: number; readonly chain: number };
  /** RFC 8555, section 6.1: name and version of the program, and the operator's contact. */
  readonly userAgent: string;
  /** Max connections to each host; further requests wait, within their deadline. Default: 8. */
  readonly connections?: number;
  /** Retries of idempotent requests. Default: three. */
  readonly repeats?: RepeatOptions;
  readonly now: () => Date;
  readonly observer?: AcmeObserver;
}

export interface NewAccount {
  /** `mailto:` URLs. */
  readonly contacts: readonly string[];
  /** The operator has read the terms and agrees; servers refuse accounts without this. */
  readonly termsOfServiceAgreed: boolean;
  readonly externalAccount?: ExternalAccount | null;
}

export interface FoundAccount {
  /** Identifies the account in every later request; must be stored. */
  readonly url: string;
  /** False: the key already had this account, which is unchanged. */
  readonly isNew: boolean;
  readonly state: AcmeAccountState;
}

/**
 * Client of one ACME server, identified by its directory (RFC 8555). Keeps connections, nonces and the directory;
 * stores no orders or accounts. Every method is one operation, bounded in time and size, and rejects with an
 * AcmeFault. Idempotent requests are retried after transient errors; others only after a refused nonce or a moved
 * directory.
 */
export class AcmeServer {
  private constructor(
    private readonly client: HttpsClient,
    private readonly conversation: Conversation,
  ) {}

  /** Sends no request. @throws AcmeFault `refused_url` for a directory URL that is not https */
  static open(options: AcmeServerOptions): AcmeServer {
    const { directoryUrl, allowedHosts = [], extraRoots = [], connections = 8 } = options;
    const { timeouts, maxBytes, userAgent, now, observer = () => undefined } = options;
    const policy = new UrlPolicy(directoryUrl, allowedHosts);
    const { directoryHost } = policy;
    const client = new HttpsClient({ directoryHost, extraRoots, connections, userAgent, ...timeouts });
    const bounds = {
      wholeMs: timeouts.wholeMs,
      responseMs: timeouts.headersMs,
      maxJsonBytes: maxBytes.json,
      maxChainBytes: maxBytes.chain,
    };
    const { repeats = defaultRepeats } = options;
    return new AcmeServer(client, new Conversation(client, policy, bounds, now, observer, repeats));
  }

  /** At most an hour old. */
  async directory(): Promise<Directory> {
    return await this.conversation.directory();
  }

  /** Checks that the server responds, with one cheap request that is not retried. @throws AcmeFault */
  async probe(): Promise<void> {
    await this.conversation.probe();
  }

  /**
   * Returns the account of the key and creates it if needed. Idempotent (section 7.3.1).
   *
   * @throws AcmeFault `problem`: `externalAccountRequired`, `userActionRequired`, `invalidContact` …
   */
  async newAccount(key: AccountKey, account: NewAccount): Promise<FoundAccount> {
    const { contacts, termsOfServiceAgreed, externalAccount = null } = account;
    return await this.#account('newAccount', key, (url) => ({
      contact: contacts,
      termsOfServiceAgreed,
      ...(externalAccount === null
        ? {}
        : { externalAccountBinding: bindExternalAccount(externalAccount, key.jwk, url) }),
    }));
  }

  /** Returns the account of the key, null when it has none (section 7.3.1). */
  async findAccount(key: AccountKey): Promise<FoundAccount | null> {
    try {
      return await this.#account('findAccount', key, () => ({ onlyReturnExisting: true }));
    } catch (error) {
      if (isProblem(error, 'accountDoesNotExist')) return null;
      throw error;
    }
  }

  /**
   * Returns the account's current key among the candidates. Pass both keys after a key change whose response was
   * lost.
   *
   * @returns null when none of them is its key
   */
  async keyOfAccount(url: string, candidates: readonly AccountKey[]): Promise<AccountKey | null> {
    for (const key of candidates) if ((await this.findAccount(key))?.url === url) return key;
    return null;
  }

  /** Operations of an existing account. */
  account(key: AccountKey, url: string): AcmeAccount {
    return new AcmeAccount(this.conversation, key, this.conversation.policy.pinned('The account', url));
  }

  /**
   * Returns when the CA suggests renewing the certificate (RFC 9773); null if it has no renewal information.
   *
   * @param id from `renewalIdOf`
   */
  async renewalInfo(id: string): Promise<RenewalInfo | null> {
    if (!/^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/.test(id)) throw new TypeError('That names no certificate.');
    const { renewalInfo } = await this.conversation.directory();
    if (renewalInfo === null) return null;
    const response = await this.conversation.get(
      'renewalInfo',
      () => `${renewalInfo.replace(/\/$/, '')}/${id}`,
    );
    const now = this.conversation.now();
    return readRenewalInfo(jsonOf(response), readRetryAfter(response.header('retry-after'), now), now);
  }

  /** Closes connections; pending requests fail as `unreachable`. */
  async close(): Promise<void> {
    await this.client.close();
  }

  async #account(
    operation: string,
    key: AccountKey,
    payload: (url: string) => Readonly<Record<string, unknown>>,
  ): Promise<FoundAccount> {
    const signer = { key, accountUrl: null };
    const response = await this.conversation.post({
      operation,
      signer,
      to: 'newAccount',
      payload,
      isRepeatable: true,
    });
    const location = response.header('location');
    if (location === undefined) throw notAcme('The ACME server named no URL for the account.');
    const { newAccount } = await this.conversation.directory();
    return {
      url: this.conversation.policy.pinned("The account's Location", location, newAccount),
      isNew: response.status === 201,
      state: readAccount(jsonOf(response)),
    };
  }
}
