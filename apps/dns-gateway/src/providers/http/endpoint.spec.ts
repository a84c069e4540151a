import { readEndpoint } from './endpoint';

describe("the endpoint of a customer's own server", () => {
  it.each([
    ['http://pdns.example.com:8081', 'in the clear'],
    ['http://8.8.8.8', 'in the clear'],
    ['ftp://pdns.example.com', 'https://'],
    ['https://user:secret@pdns.example.com', 'user'],
    ['https://pdns.example.com/?key=1', 'path'],
    ['pdns.example.com', 'a URL'],
  ])('%s is refused', (endpoint, words) => {
    expect(() => readEndpoint(endpoint)).toThrow(
      expect.objectContaining({
        code: 'bad_request',
        faults: [
          expect.objectContaining({
            field: 'credentials.endpoint',
            message: expect.stringContaining(words) as string,
          }),
        ],
      }),
    );
  });

  it.each([
    ['https://pdns.example.com/', 'https://pdns.example.com'],
    ['https://PDNS.example.com:8443/dns//', 'https://pdns.example.com:8443/dns'],
    ['http://10.1.2.3:8081', 'http://10.1.2.3:8081'],
    ['http://[fd00::1]:8081/', 'http://[fd00::1]:8081'],
  ])('%s is %s', (endpoint, normal) => {
    expect(readEndpoint(endpoint)).toBe(normal);
  });
});
