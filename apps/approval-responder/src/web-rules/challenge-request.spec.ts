import { isWellFormed, speaksFor } from './challenge-request';

describe('a challenge request', () => {
  const secret = 'abcdefghijklmnopqrstuvwxyz234567';
  const token = 'abcDEF012-_abcDEF012-_';

  it.each([
    [secret, token, true],
    [secret.toUpperCase(), token, false],
    [secret.slice(0, 25), token, false],
    [`${secret}${secret}a`, token, false],
    [secret, '..', false],
    [secret, `${token}/x`, false],
    [secret, token.slice(0, 21), false],
    [secret, 'x'.repeat(129), false],
    ['..', token, false],
  ])('with secret %s and token %s is well-formed: %s', (given, token, expected) =>
    expect(isWellFormed({ secret: given, token })).toBe(expected),
  );
});

describe('speaksFor', () => {
  it.each<[string | undefined, boolean]>([
    [undefined, true],
    ['a.example.com', true],
    ['A.Example.COM', true],
    ['a.example.com:80', true],
    ['a.example.com.', true],
    ['a.example.com, origin.internal', true],
    ['approval.example.net', true],
    ['approval.example.net:443', true],
    ['b.example.com', false],
    ['b.example.com, a.example.com', false],
    ['xa.example.com', false],
    ['a.example.com.evil.example', false],
    ['', false],
    [' ', false],
    ['a.example.com:80:80', false],
    ['[::1]', false],
  ])('X-Forwarded-Host %j for a.example.com: %s', (forwardedHost, expected) =>
    expect(speaksFor('a.example.com', forwardedHost, 'approval.example.net:8443')).toBe(expected),
  );
});
