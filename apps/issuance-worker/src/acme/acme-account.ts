import { AcmeFault, isProblem, notAcme } from './acme-fault';
import { linksOf } from './connection/link-header';
import type { HttpsResponse } from './connection/https-client';
import { jsonOf, mediaType } from './conversation/response';
import type { Conversation, SignedRequest } from './conversation/conversation';
import { isPassing } from './conversation/repeats';
import { type AcmeAccountState, readAccount } from './resources/account';
import {
  type AcmeAuthorization,
  type AcmeChallenge,
  readAuthorization,
  readChallenge,
} from './resources/authorization';
import { type DownloadedChain, readChain } from './resources/certificate-chain';
import { type AcmeOrder, assertNames, readOrder } from './resources/order';
import { readRetryAfter } from './retry-after';
import type { AccountKey } from './signing/account-key';
import { postAsGet, type Signer, signRequest } from './signing/jws';

export interface NewOrder {
  /** A-labels; wildcards with `*.`. */
  readonly dnsNames: readonly string[];
  /** One of the directory's; null: the CA chooses, and some choose at random. */
  readonly profile?: string | null;
  /** `renewalIdOf` the replaced certificate; only if the directory has `renewalInfo`. */
  readonly replaces?: string | null;
}

const chainType = 'application/pem-certificate-chain';

/** Operations of one account, bounded like those of AcmeServer. Each may be repeated after a crash. */
export class AcmeAccount {
  readonly #signer: Signer;

  constructor(
    private readonly conversation: Conversation,
    private readonly key: AccountKey,
    readonly url: string,
  ) {
    this.#signer = { key, accountUrl: url };
  }

  async read(): Promise<AcmeAccountState> {
    return readAccount(jsonOf(await this.#read('readAccount', this.#at('The account', this.url))));
  }

  /** RFC 8555, section 7.3.2. @param contacts `mailto:` URLs; replace the previous ones */
  async updateContacts(contacts: readonly string[]): Promise<AcmeAccountState> {
    const to = this.#at('The account', this.url);
    return readAccount(jsonOf(await this.#post('updateAccount', to, { contact: contacts })));
  }

  /**
   * Changes the account's key (section 7.3.5). Store the new key before calling this: when the response is lost,
   * `keyOfAccount` returns the valid one.
   *
   * @throws AcmeFault `problem` with status 409 and `location` when the new key already has an account
   */
  async changeKey(newKey: AccountKey): Promise<void> {
    const payload = (url: string) => ({
      ...signRequest({ key: newKey, accountUrl: null }, url, null, {
        account: this.url,
        oldKey: this.key.jwk,
      }),
    });
    await this.#post('keyChange', 'keyChange', payload);
  }

  /**
   * Creates an order. When the response is lost the order may exist; it is harmless, since no quota is spent before
   * finalize. A retry with `replaces` may then fail with `alreadyReplaced`; retry without.
   *
   * @throws AcmeFault `problem`: `alreadyReplaced`, `invalidProfile`, `rejectedIdentifier`, `caa` …
   */
  async newOrder({ dnsNames, profile = null, replaces = null }: NewOrder): Promise<AcmeOrder> {
    const response = await this.#post('newOrder', 'newOrder', {
      identifiers: dnsNames.map((value) => ({ type: 'dns', value })),
      ...(profile === null ? {} : { profile }),
      ...(replaces === null ? {} : { replaces }),
    });
    const location = response.header('location');
    if (location === undefined) throw notAcme('The ACME server named no URL for the order.');
    const { newOrder } = await this.conversation.directory();
    const url = this.conversation.policy.pinned("The order's Location", location, newOrder);
    return assertNames(this.#order(response, url), dnsNames);
  }

  /** Reads the order, in any state. */
  async order(url: string): Promise<AcmeOrder> {
    return this.#order(await this.#read('readOrder', this.#at('The order', url)), url);
  }

  async authorization(url: string): Promise<AcmeAuthorization> {
    const response = await this.#read('readAuthorization', this.#at('The authorization', url));
    return readAuthorization(jsonOf(response), url, this.conversation.policy, this.#retryAt(response));
  }

  /** Deactivates an authorization, so that no later order reuses it (section 7.5.2). */
  async deactivateAuthorization(url: string): Promise<void> {
    const to = this.#at('The authorization', url);
    await this.#post('deactivateAuthorization', to, { status: 'deactivated' });
  }

  /** Responds to a challenge whose value is published (section 7.5.1). */
  async respond(challengeUrl: string): Promise<AcmeChallenge> {
    const response = await this.#post('respond', this.#at('The challenge', challengeUrl), {});
    return readChallenge(jsonOf(response), this.conversation.policy);
  }

  /**
   * Requests the certificate (section 7.4). A retry after a lost response fails, usually with `orderNotReady`; the order
   * is then read and returned.
   *
   * @param csr PKCS#10, DER
   * @throws AcmeFault `problem`: `badCSR`, `badPublicKey`, `caa` …
   */
  async finalize(
    { url, finalizeUrl }: Pick<AcmeOrder, 'url' | 'finalizeUrl'>,
    csr: Uint8Array,
  ): Promise<AcmeOrder> {
    const payload = { csr: Buffer.from(csr).toString('base64url') };
    try {
      return this.#order(
        await this.#post('finalize', this.#at("The order's finalize", finalizeUrl), payload),
        url,
      );
    } catch (error) {
      if (isProblem(error, 'orderNotReady')) return await this.order(url);
      if (!(error instanceof AcmeFault) || error.kind !== 'problem' || isPassing(error)) throw error;
      const order = await this.order(url).catch((unread: unknown) => {
        // While it cannot be read, it may have been finalized.
        if (unread instanceof AcmeFault && unread.kind === 'problem' && !isPassing(unread)) return null;
        throw unread;
      });
      // Other CAs refuse it with another type: an order that was finalized must not be given up.
      if (order?.status === 'processing' || order?.status === 'valid') return order;
      throw error;
    }
  }

  /** @param url the order's `certificateUrl`, or one of the first download's `alternateUrls` */
  async certificate(url: string): Promise<DownloadedChain> {
    const to = this.#at('The certificate', url);
    const response = await this.#read('certificate', to, chainType);
    if (mediaType(response) !== chainType)
      throw notAcme('The ACME server sent something other than a chain in PEM.');
    const alternates = linksOf(response.headers('link'), 'alternate');
    // Others are left out: the certificate itself does not depend on them.
    const alternateUrls = alternates.flatMap(
      (link) => this.conversation.policy.pinnedOrNull(link, url) ?? [],
    );
    return { url, ...readChain(response.body), alternateUrls };
  }

  /**
   * RFC 8555, section 7.6.
   *
   * @param certificate DER
   * @param reason CRLReason, RFC 5280, section 5.3.1
   * @returns `already`: it was revoked before, for any reason
   */
  async revoke(certificate: Uint8Array, reason: number): Promise<'revoked' | 'already'> {
    const payload = { certificate: Buffer.from(certificate).toString('base64url'), reason };
    try {
      const [operation, signer] = ['revokeCert', this.#signer] as const;
      await this.conversation.post({ operation, signer, to: operation, payload, isRepeatable: true });
      return 'revoked';
    } catch (error) {
      if (isProblem(error, 'alreadyRevoked')) return 'already';
      throw error;
    }
  }

  #at(what: string, url: string) {
    return { what, url };
  }

  async #post(
    operation: string,
    to: SignedRequest['to'],
    payload: SignedRequest['payload'],
  ): Promise<HttpsResponse> {
    return await this.conversation.post({
      operation,
      signer: this.#signer,
      to,
      payload,
      isRepeatable: false,
    });
  }

  /** POST-as-GET (section 6.3). */
  async #read(
    operation: string,
    to: SignedRequest['to'],
    accept: SignedRequest['accept'] = 'application/json',
  ): Promise<HttpsResponse> {
    return await this.conversation.post({
      operation,
      signer: this.#signer,
      to,
      payload: postAsGet,
      accept,
      isRepeatable: true,
    });
  }

  #order(response: HttpsResponse, url: string): AcmeOrder {
    return readOrder(jsonOf(response), url, this.conversation.policy, this.#retryAt(response));
  }

  #retryAt(response: HttpsResponse): Date | null {
    return readRetryAfter(response.header('retry-after'), this.conversation.now());
  }
}
