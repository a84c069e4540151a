import { inspect } from 'node:util';
import {
  baseUrl,
  boolean,
  durationMs,
  filePath,
  hostPort,
  integer,
  list,
  network,
  oneOf,
  port,
  secret,
  string,
  url,
} from './setting-kinds';
import { defineSettings, SettingsError } from './settings';

const settings = defineSettings({
  PORT: port({ meaning: 'Port of the API', default: 3000 }),
  DATABASE_URL: url({ meaning: 'The database', schemes: ['postgres', 'postgresql'] }),
  MAIL_TOKEN: secret({ meaning: 'Token of the mail provider', minLength: 8, default: null }),
  WINDOW: durationMs({ meaning: 'Settling window', default: 10_000 }),
  LEVEL: oneOf(['info', 'debug'], { meaning: 'How much is logged', default: 'info' }),
  PROXIES: list(string({ meaning: 'a network' }), { meaning: 'Trusted proxies', default: [] }),
  STRICT: boolean({ meaning: 'Refuse | more', default: false }),
  RESOLVER: hostPort({ meaning: 'A resolver', default: null }),
  WORKERS: integer({ meaning: 'Workers', unit: 'processes', min: 1, max: 64, default: 2 }),
  PID: filePath({ meaning: 'Where the process id is written', default: null }),
});

const databaseUrl = 'postgres://certwright:hunter22@localhost/core';

function faultsOf(environment: Record<string, string>): Record<string, string> {
  try {
    settings.read(environment);
  } catch (error) {
    if (error instanceof SettingsError)
      return Object.fromEntries(error.faults.map((each) => [each.name, each.fault]));
    throw error;
  }
  return {};
}

describe('settings', () => {
  it('are typed values, with defaults for absent variables', () => {
    const values = settings.read({
      DATABASE_URL: databaseUrl,
      PORT: '',
      RESOLVER: '[2001:db8::1]:53',
      PROXIES: 'a, b,,',
    });
    const portNumber: number = values.PORT;
    const level: 'info' | 'debug' = values.LEVEL;
    expect({ ...values, portNumber, level }).toMatchObject({
      DATABASE_URL: databaseUrl,
      portNumber: 3000,
      level: 'info',
      WINDOW: 10_000,
      PROXIES: ['a', 'b'],
      RESOLVER: { host: '2001:db8::1', port: 53 },
      MAIL_TOKEN: null,
      PID: null,
    });
  });

  it('report every invalid value in one error', () => {
    expect(
      faultsOf({
        PORT: '70000',
        WINDOW: 'soon',
        LEVEL: 'loud',
        STRICT: 'maybe',
        RESOLVER: '::1:53',
        WORKERS: '1.5',
      }),
    ).toEqual({
      PORT: 'is not a whole number from 0 to 65535 (port)',
      DATABASE_URL: 'is missing: The database',
      WINDOW: 'is not a duration such as 250ms, 10s, 5m, 2h or 1d',
      LEVEL: 'is none of info, debug',
      STRICT: 'is neither true nor false',
      RESOLVER: 'is not host:port; put an IPv6 address in brackets',
      WORKERS: 'is not a whole number from 1 to 64 (processes)',
    });
  });

  it.each([
    ['250', 250],
    ['250ms', 250],
    ['10s', 10_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
  ])('reads the duration %s as %d ms', (text, ms) => {
    expect(settings.read({ DATABASE_URL: databaseUrl, WINDOW: text }).WINDOW).toBe(ms);
  });

  it('never print a secret: not in a fault, not in JSON, not in a template, not in the debugger', () => {
    const values = settings.read({ DATABASE_URL: databaseUrl, MAIL_TOKEN: 'correct horse' });
    expect(values.MAIL_TOKEN?.reveal()).toBe('correct horse');
    const printed = [
      `${values.MAIL_TOKEN}`,
      JSON.stringify(values.MAIL_TOKEN),
      inspect(values),
      inspect(values.MAIL_TOKEN),
    ];
    expect(printed.join()).not.toContain('horse');
    expect(
      JSON.stringify(faultsOf({ DATABASE_URL: 'mysql://u:hunter22@h', MAIL_TOKEN: 'horse' })),
    ).not.toMatch(/hunter22|horse/);
  });

  it('take a secret from the file that NAME_FILE names, without its last line break', () => {
    const files: Record<string, string> = { '/run/secrets/mail': 'correct horse\n' };
    const readFile = (path: string): string => files[path] ?? '';
    const values = settings.read(
      { DATABASE_URL: databaseUrl, MAIL_TOKEN_FILE: '/run/secrets/mail' },
      readFile,
    );
    expect(values.MAIL_TOKEN?.reveal()).toBe('correct horse');
  });

  it('refuse a secret given twice, and a file that cannot be read', () => {
    const twice = {
      DATABASE_URL: databaseUrl,
      MAIL_TOKEN: 'correct horse',
      MAIL_TOKEN_FILE: '/run/secrets/mail',
    };
    expect(faultsOf(twice)).toEqual({ MAIL_TOKEN: 'is given twice: unset either it or MAIL_TOKEN_FILE' });
  });

  it.each([
    ['does not exist', '/nowhere/at/all', undefined, /: it does not exist; create it.* \(ENOENT\)$/],
    ['is a folder', __dirname, undefined, /: it is a folder; name a file in it \(EISDIR\)$/],
    ['may not be read', 'f', 'EACCES', /: this user has no permission; change its owner.* \(EACCES\)$/],
    [
      'is empty',
      '/dev/null',
      undefined,
      /^is missing: the file that DATABASE_URL_FILE names is empty; write/,
    ],
    ['has another value', __filename, undefined, /^in the file that DATABASE_URL_FILE names is not a URL/],
  ])('refuse a file that %s, in one line that says what to do', (_what, file, code, message) => {
    const readFile =
      code === undefined
        ? undefined
        : () => {
            throw Object.assign(new Error(code), { code });
          };
    const read = () => settings.read({ DATABASE_URL_FILE: file }, readFile);
    expect(read).toThrow(SettingsError);
    const { faults, message: line } = thrownBy(read);
    expect(faults).toEqual([{ name: 'DATABASE_URL', fault: expect.stringMatching(message) as string }]);
    expect(line).toBe(`DATABASE_URL ${faults[0]?.fault}`);
  });

  it.each([
    'https:host',
    'https:/host',
    'https://',
    'https://host:70000',
    'https://ho st',
    'https://host ',
    ' https://host',
    'ftp://host',
    'host',
    '-1',
  ])('refuse what is not a URL of a server: %p', (text) => {
    const schemes = ['https', 'smtp'];
    const { table } = defineSettings({
      URL: url({ meaning: 'A URL', schemes }),
      BASE: baseUrl({ meaning: 'A URL', default: 'http://host' }),
    });
    for (const each of [text, text.replace('https', 'smtp')])
      expect(table.URL.read(each)).toEqual({
        fault: 'is not a URL that begins with https:// or smtp://',
      });
    expect(table.BASE.read(text)).toMatchObject({ fault: expect.stringMatching(/^is not a URL/) });
  });

  it.each(['https://host/', 'https://host/api/', 'https://host?query', 'https://host#fragment'])(
    'refuse %s where a path follows',
    (text) => {
      const base = baseUrl({ meaning: 'A URL', default: 'http://host' });
      expect(base.read(text)).toMatchObject({ fault: expect.stringMatching(/ends without a slash$/) });
      expect(base.read('https://host:8443/api')).toEqual({ value: 'https://host:8443/api' });
    },
  );

  it('print their manual as a table', () => {
    const manual = settings.describe().split('\n');
    expect(manual).toContain('| `PORT` | Port of the API | port, 0–65535 | 3000 |');
    expect(manual).toContain(
      '| `DATABASE_URL` (or `DATABASE_URL_FILE`) | The database | URL, postgres:// or postgresql:// | required |',
    );
    expect(manual).toContain('| `WINDOW` | Settling window | ms, s, m, h or d | 10s |');
    expect(manual).toContain('| `STRICT` | Refuse \\| more | true or false | false |');
  });
});

function thrownBy(read: () => unknown): SettingsError {
  try {
    read();
  } catch (error) {
    if (error instanceof SettingsError) return error;
  }
  throw new Error('read without a fault');
}

describe('networks', () => {
  const networks = defineSettings({
    ALLOWED: list(network({ meaning: 'A network' }), { meaning: 'Networks', default: [] }),
    PROXIES: list(network({ meaning: 'A proxy', orAddress: true }), { meaning: 'Proxies', default: [] }),
  });

  it('are read as they are written', () => {
    const values = networks.read({
      ALLOWED: '10.0.0.0/8,::1/128, 0.0.0.0/0',
      PROXIES: '192.0.2.1,2001:db8::/32',
    });
    expect(values.ALLOWED).toEqual(['10.0.0.0/8', '::1/128', '0.0.0.0/0']);
    expect(values.PROXIES).toEqual(['192.0.2.1', '2001:db8::/32']);
  });

  it.each(['internal', '10.0.0.0', '10.0.0/8', '10.0.0.0/33', '::1/129', '10.0.0.0/8/8', '10.0.0.0/', '/8'])(
    '%j is refused with the name of the setting',
    (text) => {
      expect(() => networks.read({ ALLOWED: text })).toThrow(
        /^ALLOWED has an entry that is not a network such as/,
      );
    },
  );

  it.each(['internal', '10.0.0.0/33', '0.0.0.0/0', 'loopback'])('%j is no proxy', (text) => {
    expect(() => networks.read({ PROXIES: text })).toThrow(
      /^PROXIES has an entry that is not an address, or a network/,
    );
  });
});
