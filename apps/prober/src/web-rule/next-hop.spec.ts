import { type HopResponse, maxRedirects, nextHop } from './next-hop';

const ports = [80, 443];
const hop = (url: string) => ({ url, status: 302, address: '192.0.2.1' });
const from = [hop('http://www.example.com/rule?a=b')];
const to = (location: string | undefined, status = 302): HopResponse => ({ status, location });
const problem = (text: string) => ({ kind: 'problem', problem: expect.stringContaining(text) as string });

describe('the next hop', () => {
  it.each([200, 204, 300, 304, 404, 500])('there is none after status %d', (status) => {
    expect(nextHop(from, to('http://www.example.com/', status), ports)).toEqual({ kind: 'arrived' });
  });

  it.each([
    ['https://www.example.com/rule', 'https://www.example.com/rule'],
    ['/other', 'http://www.example.com/other'],
    ['?c', 'http://www.example.com/rule?c'],
    ['//example.net/x', 'http://example.net/x'],
    ['http://www.example.com:80/y', 'http://www.example.com/y'],
    ['http://user:secret@www.example.com/z#part', 'http://www.example.com/z'],
    ['http://0x7f.1/', 'http://127.0.0.1/'],
    [Buffer.from('/ä', 'utf8').toString('latin1'), 'http://www.example.com/%C3%A4'],
  ])('to %s is %s', (location, url) => {
    for (const status of [301, 302, 303, 307, 308]) {
      expect(nextHop(from, to(location, status), ports)).toEqual({ kind: 'follow', url });
    }
  });

  it.each([
    ['file:///etc/passwd', 'neither http nor https'],
    ['gopher://www.example.com/', 'neither http nor https'],
    ['javascript:alert(1)', 'neither http nor https'],
    ['http://www.example.com:6379/', 'redirects to port 6379; only 80 and 443 are looked at'],
    ['https://www.example.com:8443/', 'port 8443'],
    [undefined, 'without a usable address'],
    ['', 'without a usable address'],
    ['http://', 'without a usable address'],
    [`/${'a'.repeat(2_048)}`, 'without a usable address'],
  ])('is not %s', (location, text) => {
    expect(nextHop(from, to(location), ports)).toEqual(problem(text));
  });

  it('is not one that was visited before', () => {
    const seen = [hop('http://www.example.com/a'), hop('http://www.example.com/b')];
    expect(nextHop(seen, to('/a'), ports)).toEqual(problem('in a circle, back to http://www.example.com/a'));
    expect(nextHop(seen, to('/b'), ports)).toEqual(problem('in a circle'));
  });

  it('is the tenth at most', () => {
    const hops = Array.from({ length: maxRedirects }, (_, at) => hop(`http://www.example.com/${at}`));
    expect(nextHop(hops, to('/on'), ports)).toEqual({ kind: 'follow', url: 'http://www.example.com/on' });
    expect(nextHop([...hops, hop('http://www.example.com/on')], to('/more'), ports)).toEqual(
      problem('10 redirects'),
    );
  });
});
