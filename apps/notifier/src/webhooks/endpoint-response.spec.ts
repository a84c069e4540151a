import { classifyResponse, retryAfterMs } from './endpoint-response';

const now = new Date('2026-11-20T12:00:00Z');

describe('a response', () => {
  it.each([200, 201, 202, 204, 299])('%i is a success', (status) => {
    expect(classifyResponse({ status, retryAfter: null }, now)).toEqual({
      outcome: { kind: 'delivered' },
      problem: null,
    });
  });

  it.each([
    [301, /301 Moved Permanently. Redirects are not followed/],
    [307, /Redirects are not followed/],
    [400, /responded with 400 Bad Request/],
    [404, /responded with 404 Not Found/],
    [500, /responded with 500/],
    [599, /responded with 599;/],
  ])('%i is a failure, with a message', (status, problem) => {
    const classified = classifyResponse({ status, retryAfter: null }, now);
    expect(classified).toMatchObject({
      outcome: { kind: 'failed' },
      problem: expect.stringMatching(problem),
    });
  });

  it('410 means that the endpoint is gone', () => {
    expect(classifyResponse({ status: 410, retryAfter: null }, now).outcome).toEqual({ kind: 'gone' });
  });
});

describe('Retry-After', () => {
  it.each([
    ['120', 120_000],
    [' 7 ', 7_000],
    ['0', 0],
    ['86401', 86_400_000],
    ['99999999999999999999999999', 86_400_000],
    ['Fri, 20 Nov 2026 12:10:00 GMT', 600_000],
    ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
    ['Fri, 20 Nov 2099 12:00:00 GMT', 86_400_000],
    ['-5', null],
    ['1.5', null],
    ['soon', null],
    ['2026-11-20', null],
    ['', null],
    [null, null],
  ])('%p is %p ms', (value, expected) => {
    expect(retryAfterMs(value, now)).toBe(expected);
  });
});
