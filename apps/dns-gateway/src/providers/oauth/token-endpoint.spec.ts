import type { ApiResponse, ApiRequest } from '../http/call-api';
import { exchangeCode, refreshToken } from './token-endpoint';

const client = {
  clientId: 'id with space',
  clientSecret: 'planted:secret/+',
  redirectUri: 'https://x.example/cb',
};
const grant = { access_token: 'access', token_type: 'Bearer', expires_in: 3_600, refresh_token: 'refresh' };

function endpoint(response: Partial<ApiResponse>, clientAuthentication: 'basic' | 'form' = 'form') {
  const requests: ApiRequest[] = [];
  const ports = {
    callApi: async (request: ApiRequest) => {
      requests.push(request);
      return { status: 200, headers: {}, text: JSON.stringify(grant), ...response };
    },
    now: () => new Date(0),
    rest: () => Promise.resolve(),
    signal: new AbortController().signal,
  };
  const at = { provider: 'Provider', tokenUrl: 'https://login.example/token', client, clientAuthentication };
  return { requests, at, ports };
}

const code = { code: 'planted-code', codeVerifier: 'planted-verifier' };

describe('the token endpoint', () => {
  it('receives the code, the redirect URI and the verifier (RFC 6749, section 4.1.3; RFC 7636, section 4.5)', async () => {
    const { at, ports, requests } = endpoint({});
    expect(await exchangeCode(at, code, ports)).toEqual({
      accessToken: 'access',
      refreshToken: 'refresh',
      expiresInS: 3_600,
    });
    expect(Object.fromEntries(new URLSearchParams(requests[0]?.body))).toEqual({
      grant_type: 'authorization_code',
      code: 'planted-code',
      redirect_uri: 'https://x.example/cb',
      code_verifier: 'planted-verifier',
      client_id: 'id with space',
      client_secret: 'planted:secret/+',
    });
  });

  it('authenticates by Basic with both parts form-encoded (RFC 6749, section 2.3.1)', async () => {
    const { at, ports, requests } = endpoint({}, 'basic');
    await refreshToken(at, 'planted-refresh', ports);
    const basic = Buffer.from('id+with+space:planted%3Asecret%2F%2B').toString('base64');
    expect(requests[0]?.headers['authorization']).toBe(`Basic ${basic}`);
    expect(requests[0]?.body).toBe('grant_type=refresh_token&refresh_token=planted-refresh');
  });

  it.each([
    [400, '{"error":"invalid_grant","error_description":"planted-code was used"}', 'auth_failed'],
    [401, '{"error":"invalid_client"}', 'auth_failed'],
    [400, '{"error":"invalid_request"}', 'rejected'],
    [400, 'no json', 'auth_failed'],
    [429, '{}', 'rate_limited'],
    [500, '{"error":"invalid_grant"}', 'unavailable'],
    [200, '<html>', 'unavailable'],
    [200, '{"access_token":"a","token_type":"mac"}', 'unavailable'],
    [200, '{"access_token":"a\\nb","token_type":"bearer"}', 'unavailable'],
    [200, '{"token_type":"bearer"}', 'unavailable'],
  ])(
    'HTTP %i with %p is %3$s after one attempt, without text of the response',
    async (status, text, kind) => {
      const { at, ports, requests } = endpoint({ status, text });
      const fault = await exchangeCode(at, code, ports).catch((error: unknown) => error);
      expect(fault).toMatchObject({ name: 'ProviderFault', kind });
      expect((fault as Error).message).not.toMatch(/planted/);
      expect(requests).toHaveLength(1);
    },
  );
});
