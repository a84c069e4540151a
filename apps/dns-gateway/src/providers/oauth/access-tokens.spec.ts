import { AccessTokens } from './access-tokens';
import type { TokenGrant } from './token-endpoint';

const signal = new AbortController().signal;

/** An authorization server that rotates refresh tokens, and a clock. */
function setUp(maxEntries?: number) {
  let nowMs = 0;
  const requested: string[] = [];
  const tokens = new AccessTokens(maxEntries);
  const refresh = async (token: string): Promise<TokenGrant> => {
    requested.push(token);
    const count = requested.length;
    return { accessToken: `access-${count}`, refreshToken: `refresh-${count}`, expiresInS: 3_600 };
  };
  const now = () => new Date(nowMs);
  const get = (token: string, ask = refresh, until = signal) =>
    tokens.get(token, ask, { now, signal: until });
  return { tokens, requested, get, advance: (seconds: number) => (nowMs += seconds * 1000) };
}

describe('AccessTokens', () => {
  it('one exchange serves all waiting callers, and later ones until its token expires', async () => {
    const { requested, get, advance } = setUp();
    const all = await Promise.all([get('first'), get('first'), get('first')]);
    expect(new Set(all.map(({ accessToken }) => accessToken))).toEqual(new Set(['access-1']));
    advance(3_500);
    await get('first');
    expect(requested).toEqual(['first']);
    advance(60);
    expect(await get('first')).toMatchObject({ accessToken: 'access-2' });
  });

  it('a spent refresh token is never sent again; its successor serves callers with either', async () => {
    const { requested, get, advance, tokens } = setUp();
    await get('first');
    advance(4_000);
    await get('refresh-1');
    advance(4_000);
    await get('first');
    expect(requested).toEqual(['first', 'refresh-1', 'refresh-2']);
    expect(tokens.successorOf('first')).toBe('refresh-3');
    expect(tokens.successorOf('refresh-3')).toBeNull();
  });

  it('a failed exchange is not cached', async () => {
    const { get } = setUp();
    await expect(get('first', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await get('first')).toMatchObject({ accessToken: 'access-1' });
  });

  it('a caller that gives up does not end the exchange, and its new refresh token is stored', async () => {
    const { get, tokens, requested } = setUp();
    const controller = new AbortController();
    let finish = (_: TokenGrant): void => undefined;
    const slow = () => new Promise<TokenGrant>((resolve) => (finish = resolve));
    const giving = get('first', slow, controller.signal);
    const reason = new Error('too late');
    controller.abort(reason);
    await expect(giving).rejects.toBe(reason);
    finish({ accessToken: 'late', refreshToken: 'refresh-late', expiresInS: 3_600 });
    expect(await get('first')).toMatchObject({ accessToken: 'late' });
    expect(tokens.successorOf('first')).toBe('refresh-late');
    expect(requested).toEqual([]);
  });

  it('a refused access token is replaced, a newer one is not', async () => {
    const { get, tokens, requested } = setUp();
    const held = await get('first');
    tokens.refused({ refreshToken: 'first', accessToken: held.accessToken });
    expect(await get('first')).toMatchObject({ accessToken: 'access-2' });
    tokens.refused({ refreshToken: 'first', accessToken: held.accessToken });
    await get('first');
    expect(requested).toHaveLength(2);
  });

  it('is bounded', async () => {
    const { get, tokens } = setUp(10);
    for (let at = 0; at < 50; at += 1) await get(`token-${at}`);
    expect(tokens.size).toBeLessThanOrEqual(10);
  });
});
