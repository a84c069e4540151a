import type { ApiReply, RecordedRequest } from './api-server';

export interface FakeOauthOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
  readonly clientAuthentication: 'basic' | 'form';
  /** A refresh token is valid for one exchange, which returns the next one (RFC 6749, section 6). */
  readonly rotates: boolean;
  readonly expiresInS: number;
  /** For suites that use the same credentials several times. Default: a code is valid once. */
  readonly codesLast?: boolean;
}

/** An authorization server's token endpoint (RFC 6749, section 3.2). */
export class FakeOauth {
  /** Codes issued to a browser and not yet used. */
  readonly codes = new Set(['planted-code-123456']);
  readonly accessTokens = new Set<string>();
  readonly refreshTokens = new Set<string>();
  exchanges = 0;

  constructor(private readonly options: FakeOauthOptions) {}

  readonly respond = (request: RecordedRequest): ApiReply => {
    const form = new URLSearchParams(request.body);
    if (request.method !== 'POST' || !this.isClient(request, form)) return refusal(401, 'invalid_client');
    if (form.get('grant_type') === 'authorization_code') return this.exchange(form);
    return this.refresh(form.get('refresh_token') ?? '');
  };

  private exchange(form: URLSearchParams): ApiReply {
    if (form.get('redirect_uri') !== this.options.redirectUri) return refusal(400, 'invalid_grant');
    const code = form.get('code') ?? '';
    if (!this.codes.has(code)) return refusal(400, 'invalid_grant');
    if (this.options.codesLast !== true) this.codes.delete(code);
    return this.grant(this.newRefreshToken());
  }

  private refresh(token: string): ApiReply {
    if (!this.refreshTokens.has(token)) return refusal(400, 'invalid_grant');
    if (!this.options.rotates) return this.grant(null);
    this.refreshTokens.delete(token);
    return this.grant(this.newRefreshToken());
  }

  private grant(refreshToken: string | null): ApiReply {
    this.exchanges += 1;
    const access_token = `access-token-${this.exchanges}-of-this-provider`;
    this.accessTokens.add(access_token);
    const rotated = refreshToken === null ? {} : { refresh_token: refreshToken };
    return {
      status: 200,
      body: { access_token, token_type: 'bearer', expires_in: this.options.expiresInS, ...rotated },
    };
  }

  private newRefreshToken(): string {
    const token = `refresh-token-${this.exchanges + 1}-of-this-provider`;
    this.refreshTokens.add(token);
    return token;
  }

  private isClient({ headers }: RecordedRequest, form: URLSearchParams): boolean {
    const { clientId, clientSecret, clientAuthentication } = this.options;
    if (clientAuthentication === 'form') {
      return form.get('client_id') === clientId && form.get('client_secret') === clientSecret;
    }
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
    return headers['authorization'] === `Basic ${basic}`;
  }
}

const refusal = (status: number, error: string): ApiReply => ({
  status,
  body: { error, error_description: 'The provided authorization grant is invalid, expired or revoked.' },
});
