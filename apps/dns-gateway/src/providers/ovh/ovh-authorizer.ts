import { createHash } from 'node:crypto';
import type { ApiRequest } from '../http/call-api';
import type { Authorization, Authorizer } from '../http/json-api';
import { checkedCall, type CheckedPorts } from '../http/checked-call';
import { ProviderFault } from '../provider-fault';

export interface OvhKeys {
  readonly applicationKey: string;
  readonly applicationSecret: string;
  readonly consumerKey: string;
}

export interface OvhAuthorizerOptions extends CheckedPorts {
  /** Name in messages. */
  readonly provider: string;
  readonly baseUrl: string;
}

/** Signs each request with the application's secret and the server's time. */
export class OvhAuthorizer implements Authorizer {
  /** Seconds that the server's clock is ahead of ours; read once per session. */
  #aheadS: Promise<number> | null = null;

  constructor(
    private readonly keys: OvhKeys,
    private readonly options: OvhAuthorizerOptions,
  ) {}

  async authorization(request: ApiRequest): Promise<Authorization> {
    const timestamp = this.nowS() + (await (this.#aheadS ??= this.ahead()));
    const { applicationKey, applicationSecret, consumerKey } = this.keys;
    return {
      headers: {
        'x-ovh-application': applicationKey,
        'x-ovh-consumer': consumerKey,
        'x-ovh-timestamp': String(timestamp),
        'x-ovh-signature': signatureOf(request, this.keys, timestamp),
      },
      secrets: [applicationSecret, consumerKey],
    };
  }

  private nowS(): number {
    return Math.floor(this.options.now().getTime() / 1000);
  }

  /** `GET /auth/time` returns only the Unix time in seconds; it needs no signature. */
  private async ahead(): Promise<number> {
    const { provider, baseUrl } = this.options;
    const { text } = await checkedCall(
      { method: 'GET', url: `${baseUrl}/auth/time`, headers: { accept: 'application/json' }, secrets: [] },
      { provider },
      this.options,
    );
    if (!/^\d{1,12}$/.test(text.trim())) {
      throw new ProviderFault(
        'unavailable',
        `${provider} did not respond as documented: /auth/time is no time.`,
      );
    }
    return Number(text.trim()) - this.nowS();
  }
}

/** The signature version, and SHA-1 over the six parts joined with `+`, as OVHcloud's API requires. */
export function signatureOf(
  { method, url, body = '' }: Pick<ApiRequest, 'method' | 'url' | 'body'>,
  { applicationSecret, consumerKey }: OvhKeys,
  timestamp: number,
): string {
  const parts = [applicationSecret, consumerKey, method, url, body, String(timestamp)];
  return `$1$${createHash('sha1').update(parts.join('+')).digest('hex')}`;
}
