import { isProblem, notAcme } from './acme-fault';
import { AcmeAccount } from './acme-account';
import { HttpsClient } from './connection/https-client';
import { UrlPolicy } from './connection/url-policy';
import { jsonOf } from './conversation/answer';
import { Conversation } from './conversation/conversation';
import type { Directory } from './conversation/directory';
import type { AcmeObserver } from './conversation/observer';
import { defaultRepeats, type RepeatOptions } from './conversation/repeats';
import { type AcmeAccountState, readAccount } from './resources/account';
import { readRenewalInfo, type RenewalInfo } from './resources/renewal-info';
import { revocation, type RevocationOutcome } from './resources/revocation';
import { readRetryAfter } from './retry-after';
import type { AccountKey } from './signing/account-key';
import { bindExternalAccount, type ExternalAccount } from './signing/external-account';

export interface AcmeServerOptions {
  readonly directoryUrl: string;
  /** PEM, besides Node's own roots; for private CAs. */
  readonly extraRoots?: readonly string[];
  /** Hosts besides the directory's that it may lead to: `host` (port 443) or `host:port`. Default: none. */
  readonly allowedHosts?: readonly string[];
  /** Milliseconds: until connected with TLS; until the header, and between parts of the body; for an operation in all. */
  readonly timeouts: { readonly connectMs: number; readonly headersMs: number; readonly wholeMs: number };
  /** Octets of a body: JSON (262,144 hold an order of a hundred names with a problem each), a chain in PEM (65,536). */
  readonly maxBytes: { readonly json: number; readonly chain: number };
  /** RFC 8555, section 6.1: name and version of the program, and where its operator can be found. */
  readonly userAgent: string;
  /** Connections at a time to each host; more requests wait for one, within their time. Default 8. */
  readonly connections?: number;
  /** Of requests that change nothing when they are carried out twice. Default: three. */
  readonly repeats?: RepeatOptions;
  readonly now: () => Date;
  readonly observer?: AcmeObserver;
}

export interface NewAccount {
  /** `mailto:` URLs. */
  readonly contacts: readonly string[];
  /** The operator has read and agrees; servers refuse without. */
  readonly termsOfServiceAgreed: boolean;
  readonly externalAccount?: ExternalAccount | null;
}

export interface FoundAccount {
  /** The account's name in every later request: stored. */
  readonly url: string;
  /** False: the key had this account already, and nothing of it was changed. */
  readonly isNew: boolean;
  readonly state: AcmeAccountState;
}

/**
 * One ACME server, by its directory (RFC 8555). Keeps connections, nonces and the directory; knows no order and no
 * account. Every method is one operation: bounded in time and size, and rejecting with an AcmeFault. What changes nothing when
 * it is carried out twice is repeated by itself after faults that may pass; anything else only where a nonce was refused or
 * the directory moved.
 */
export class AcmeServer {
  private constructor(
    private readonly client: HttpsClient,
    private readonly conversation: Conversation,
  ) {}

  /** Asks nothing yet. @throws AcmeFault `refused_url` for a directory that is no https URL */
  static open(options: AcmeServerOptions): AcmeServer {
    const { directoryUrl, allowedHosts = [], extraRoots = [], connections = 8 } = options;
    const { timeouts, maxBytes, userAgent, now, observer = () => undefined } = options;
    const policy = new UrlPolicy(directoryUrl, allowedHosts);
    const { directoryHost } = policy;
    const client = new HttpsClient({ directoryHost, extraRoots, connections, userAgent, ...timeouts });
    const bounds = {
      wholeMs: timeouts.wholeMs,
      answerMs: timeouts.headersMs,
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

  /** One request, not repeated, that costs the server little: whether it responds. @throws AcmeFault */
  async probe(): Promise<void> {
    await this.conversation.probe();
  }

  /**
   * The account of the key; made when there is none. Repeated, it finds the same (section 7.3.1).
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

  /** The account of the key, null when it has none (section 7.3.1). */
  async findAccount(key: AccountKey): Promise<FoundAccount | null> {
    try {
      return await this.#account('findAccount', key, () => ({ onlyReturnExisting: true }));
    } catch (error) {
      if (isProblem(error, 'accountDoesNotExist')) return null;
      throw error;
    }
  }

  /**
   * Which of the keys the account has now: after a change of key whose answer was lost, ask with both.
   *
   * @returns null when it has none of them
   */
  async keyOfAccount(url: string, candidates: readonly AccountKey[]): Promise<AccountKey | null> {
    for (const key of candidates) if ((await this.findAccount(key))?.url === url) return key;
    return null;
  }

  /** Operations of an account that exists. */
  account(key: AccountKey, url: string): AcmeAccount {
    return new AcmeAccount(this.conversation, key, this.conversation.policy.pinned('The account', url));
  }

  /**
   * When the CA would like the certificate renewed (RFC 9773); null when it does not say such things.
   *
   * @param id of `renewalIdOf`
   */
  async renewalInfo(id: string): Promise<RenewalInfo | null> {
    if (!/^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/.test(id)) throw new TypeError('That names no certificate.');
    const { renewalInfo } = await this.conversation.directory();
    if (renewalInfo === null) return null;
    const answer = await this.conversation.get(
      'renewalInfo',
      () => `${renewalInfo.replace(/\/$/, '')}/${id}`,
    );
    const now = this.conversation.now();
    return readRenewalInfo(jsonOf(answer), readRetryAfter(answer.header('retry-after'), now), now);
  }

  /** Revokes by the certificate's own key, whoever ordered it (section 7.6): how a key that became known is shown. */
  async revokeByCertificateKey(
    certificateKey: AccountKey,
    certificate: Uint8Array,
    reason: number,
  ): Promise<RevocationOutcome> {
    return await revocation(
      this.conversation,
      { key: certificateKey, accountUrl: null },
      certificate,
      reason,
    );
  }

  /** Drops connections; what is under way ends as `unreachable`. */
  async close(): Promise<void> {
    await this.client.close();
  }

  async #account(
    operation: string,
    key: AccountKey,
    payload: (url: string) => Readonly<Record<string, unknown>>,
  ): Promise<FoundAccount> {
    const signer = { key, accountUrl: null };
    const answer = await this.conversation.post({
      operation,
      signer,
      to: 'newAccount',
      payload,
      isRepeatable: true,
    });
    const location = answer.header('location');
    if (location === undefined) throw notAcme('The ACME server named no URL for the account.');
    return {
      url: this.conversation.policy.pinned("The account's Location", location),
      isNew: answer.status === 201,
      state: readAccount(jsonOf(answer)),
    };
  }
}
