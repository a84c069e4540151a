import { ConfigFault, readConfig } from './config';

const secret = Buffer.alloc(32).toString('base64');

it('serves example.com, example.net and example.org on 127.0.0.1 by default', () => {
  expect(readConfig({})).toEqual({
    dnsHost: '127.0.0.1',
    dnsPort: 4353,
    controlHost: '127.0.0.1',
    controlPort: 4354,
    zones: ['example.com', 'example.net', 'example.org'],
    logLevel: 'info',
  });
});

it('reads every setting', () => {
  expect(
    readConfig({
      DNS_HOST: '::1',
      DNS_PORT: '0',
      CONTROL_HOST: '127.0.0.2',
      CONTROL_PORT: '9',
      DEMO_ZONES: 'A.test., b.test',
      DEMO_TSIG_KEY: `Update-Key.:hmac-sha256:${secret}`,
      DATA_FILE: '/tmp/d',
      PID_FILE: '/tmp/p',
      LOG_LEVEL: 'debug',
    }),
  ).toEqual({
    dnsHost: '::1',
    dnsPort: 0,
    controlHost: '127.0.0.2',
    controlPort: 9,
    zones: ['a.test', 'b.test'],
    tsigKey: { name: 'update-key', algorithm: 'hmac-sha256', secret: Buffer.alloc(32) },
    dataFile: '/tmp/d',
    pidFile: '/tmp/p',
    logLevel: 'debug',
  });
});

it.each([
  [{ CONTROL_HOST: '0.0.0.0' }, 'CONTROL_HOST must be a loopback address'],
  [{ DNS_HOST: 'localhost' }, 'DNS_HOST must be an IP address'],
  [{ DNS_PORT: '65536' }, 'DNS_PORT must be a port'],
  [{ CONTROL_PORT: '-1' }, 'CONTROL_PORT must be a port'],
  [{ DEMO_ZONES: 'example.com,,' }, 'DEMO_ZONES must be domain names'],
  [{ DEMO_TSIG_KEY: 'key' }, 'DEMO_TSIG_KEY must be name:algorithm:secret; its algorithm'],
  [{ DEMO_TSIG_KEY: `key:hmac-md5:${secret}` }, 'DEMO_TSIG_KEY must be name:algorithm:secret; its algorithm'],
  [{ DEMO_TSIG_KEY: 'key:hmac-sha256:c2hvcnQ=' }, 'DEMO_TSIG_KEY must be name:algorithm:secret; its secret'],
  [{ DEMO_TSIG_KEY: `key:hmac-sha256:${secret}:x` }, 'DEMO_TSIG_KEY must be name:algorithm:secret.'],
  [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL must be one of'],
])('refuses %p with the name of the setting', (env, message) => {
  expect(() => readConfig(env)).toThrow(ConfigFault);
  expect(() => readConfig(env)).toThrow(message);
});
