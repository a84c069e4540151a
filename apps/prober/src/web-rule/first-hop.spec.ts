import { firstHop } from './first-hop';

describe('the first hop', () => {
  it('is http on port 80', () => {
    const question = { dnsName: 'www.example.com', path: '/.well-known/x?y' };
    expect(firstHop(question, 80)).toEqual({ ok: true, url: 'http://www.example.com/.well-known/x?y' });
    expect(firstHop(question, 8080)).toEqual({
      ok: true,
      url: 'http://www.example.com:8080/.well-known/x?y',
    });
  });

  it.each([
    '*.example.com',
    '127.0.0.1',
    'localhost',
    'www.example.com:22',
    'a@www.example.com',
    '',
    null,
    7,
  ])('is never to %j, which is no single public name', (dnsName) => {
    expect(firstHop({ dnsName, path: '/' }, 80)).toMatchObject({ ok: false });
  });

  it.each([
    '',
    'rule',
    '//other.example',
    '/a b',
    '/a\r\nHost: x',
    '/a#b',
    '/ä',
    `/${'a'.repeat(2_000)}`,
    undefined,
  ])('has no path like %j', (path) => {
    expect(firstHop({ dnsName: 'www.example.com', path }, 80)).toMatchObject({ ok: false });
  });

  it.each([undefined, null, 'www.example.com', []])('is not read from %j', (question) => {
    expect(firstHop(question, 80)).toMatchObject({ ok: false });
  });
});
