import { readEndpointUrl } from './endpoint-url';

it.each([
  ['https://hooks.example.com', 'https://hooks.example.com/', null],
  ['HTTP://Hooks.Example.com:8080/a?b=c', 'http://hooks.example.com:8080/a?b=c', null],
  ['https://me:pass%20word@h.example/x', 'https://h.example/x', 'me:pass word'],
  ['https://me@h.example/', 'https://h.example/', 'me:'],
  ['https://:token@h.example/', 'https://h.example/', ':token'],
  ['https://m%C3%BCller:a%3Ab@h.example/', 'https://h.example/', 'müller:a:b'],
  ['https://bücher.example/ö', 'https://xn--bcher-kva.example/%C3%B6', null],
  ['http://0x7f.1/', 'http://127.0.0.1/', null],
])('%s is %s with credentials %s', (text, url, credentials) => {
  expect(readEndpointUrl(text)).toEqual({
    value: { url, credentials, hostname: new URL(url).hostname },
  });
});

it.each([
  ['ftp://h.example/', 'http:// or https://'],
  ['https:h.example', 'http:// or https://'],
  ['h.example', 'http:// or https://'],
  ['', 'http:// or https://'],
  ['https://h.example/#part', 'fragment'],
  ['https://h.example/#', 'fragment'],
  [' https://h.example/', 'white space'],
  ['https://h.example/a b', 'white space'],
  ['https://h.\texample/', 'white space'],
  ['https://good.example\\@h.example/', 'backslashes'],
  ['https://', 'not a URL'],
  ['https://h.example:99999/', 'not a URL'],
  ['https://[::1/', 'not a URL'],
  ['https://a%3Ab:c@h.example/', 'colon'],
  ['https://a:%zz@h.example/', 'well-formed'],
  ['https://a:%0d%0aX@h.example/', 'well-formed'],
  [`https://h.example/${'a'.repeat(2_031)}`, 'longer than 2048'],
  [`https://h.example/${'ö'.repeat(400)}`, 'when encoded'],
])('%s is refused: %s', (text, reason) => {
  expect(readEndpointUrl(text)).toEqual({ fault: expect.stringContaining(reason) });
});

it('takes a URL of 2,048 characters', () => {
  expect(readEndpointUrl(`https://h.example/${'a'.repeat(2_030)}`)).toHaveProperty('value');
});
