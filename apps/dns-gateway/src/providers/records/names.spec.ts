import { fqdnOf, normalName, relativeName, zoneOf } from './names';

const zone = { name: 'example.com' };

describe('names', () => {
  it.each([
    ['WWW.Example.COM.', 'www.example.com'],
    ['\\052.example.com.', '*.example.com'],
    ['\\_acme-challenge.example.com', '_acme-challenge.example.com'],
  ])('%p has the normal form %p', (name, normal) => {
    expect(normalName(name)).toBe(normal);
  });

  it.each([
    ['example.com', '@'],
    ['a.b.example.com', 'a.b'],
  ])('%p is %p within its zone, and back', (fqdn, relative) => {
    expect(relativeName(fqdn, zone)).toBe(relative);
    expect(fqdnOf(relative, zone)).toBe(fqdn);
  });

  it.each([
    ['Bücher.Example.', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ])('the zone %p is %p, with its own id', (name, normal) => {
    expect(zoneOf(name, name)).toEqual({ id: name, name: normal });
  });

  it('a name that only shares its ending with the zone is not in it', () => {
    expect(() => relativeName('badexample.com', zone)).toThrow(RangeError);
  });
});
