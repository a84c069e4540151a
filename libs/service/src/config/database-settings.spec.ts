import { databaseUrl, poolerSettings } from './database-settings';
import { defineSettings, SettingsError } from './settings';

const settings = defineSettings({
  DATABASE_URL: databaseUrl({ meaning: 'The core database' }),
  ...poolerSettings,
});

function faultOf(url: string): string | undefined {
  try {
    settings.read({ DATABASE_URL: url });
    return undefined;
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    expect(error.message).not.toContain('hunter22');
    return error.faults[0]?.fault;
  }
}

it.each([
  'postgres://certwright:hunter22@db/core',
  'postgresql://certwright:hunter22@[2001:db8::1]:5432/core?sslmode=verify-full&sslrootcert=/ca.pem',
  'postgres://certwright:hunter22%2C@db/core?host=/run/postgresql',
])('accepts %s', (url) => {
  expect(faultOf(url)).toBeUndefined();
  expect(settings.read({ DATABASE_URL: url }).DATABASE_URL()).toBe(url);
});

it.each([
  'postgres://certwright:hunter22@db1,db2/core',
  'postgres://certwright:hunter22@db1:5432,db2:5432/core',
  'postgres://certwright:hunter22@/core?host=db1,db2',
  'postgres://certwright:hunter22@db/core?target_session_attrs=read-write',
  'postgres://certwright:hunter22@db/core?load_balance_hosts=random',
])('refuses several hosts: %s', (url) => {
  expect(faultOf(url)).toMatch(
    /^names several hosts, .* name one host, .* a proxy or the read-write Service/,
  );
});

it.each(['mysql://certwright:hunter22@db/core', 'hunter22', 'postgres:hunter22'])('refuses %s', (url) => {
  expect(faultOf(url)).toBe('is not a URL that begins with postgres:// or postgresql://');
});

it('reads the file again for each connection, and keeps the last address while the file is invalid', () => {
  let file: string | Error = 'postgres://certwright:hunter22@db/core\n';
  const read = () => {
    if (file instanceof Error) throw file;
    return file;
  };
  const { DATABASE_URL } = settings.read({ DATABASE_URL_FILE: '/run/secrets/url' }, read);
  expect(DATABASE_URL()).toBe('postgres://certwright:hunter22@db/core');
  file = 'postgres://certwright:hunter23@db/core';
  expect(DATABASE_URL()).toBe('postgres://certwright:hunter23@db/core');
  for (const invalid of ['', 'hunter24', new Error('ENOENT')]) {
    file = invalid;
    expect(DATABASE_URL()).toBe('postgres://certwright:hunter23@db/core');
  }
});

it('is followed from the first line of the file on', () => {
  expect(() => settings.read({ DATABASE_URL_FILE: '/x' }, () => 'hunter22')).toThrow(
    'DATABASE_URL in the file that DATABASE_URL_FILE names is not a URL',
  );
});

it('names the kinds of poolers', () => {
  expect(() => settings.read({ DATABASE_URL: 'postgres://db/core', DATABASE_POOLER: 'session' })).toThrow(
    'DATABASE_POOLER is none of none, transaction, transaction-prepared',
  );
});
