import { oneOf } from './setting-kinds';
import { type Described, type Reading, type Setting, settingOf } from './setting';

const schemes = ['postgres://', 'postgresql://'];

/** Parameters of libpq that choose among several hosts. */
const ofSeveralHosts = ['target_session_attrs', 'load_balance_hosts'];

/**
 * The address of a PostgreSQL database, one host. A secret, since it may contain a password. The value is called for each
 * new connection: with `NAME_FILE` it then reads the file again, so that a password can be changed while the process runs.
 */
export function databaseUrl(described: Pick<Described<never>, 'meaning'>): Setting<() => string> {
  const read = (text: string): Reading<() => string> => {
    const fault = faultOf(text);
    return fault === null ? { value: () => text } : { fault };
  };
  // While the file is unreadable, the last address is used: a Secret may be replaced at this moment.
  const follow = (value: () => string, again: () => Reading<() => string>) => {
    let last = value;
    return () => {
      const reading = again();
      if ('value' in reading) last = reading.value;
      return last();
    };
  };
  return settingOf<() => string, never>(
    { unit: 'URL, postgres:// or postgresql://', secret: true, read, follow },
    described,
  );
}

function faultOf(text: string): string | null {
  const [, authority = ''] = /^\w+:\/\/([^/?#]*)/.exec(text) ?? [];
  const isOfList = authority.slice(authority.lastIndexOf('@') + 1).includes(',');
  // A URL without a host is no URL, but may have hosts as parameter.
  const parameters = new URLSearchParams(text.slice(text.indexOf('?') + 1));
  if (
    isOfList ||
    parameters.get('host')?.includes(',') ||
    ofSeveralHosts.some((name) => parameters.has(name))
  )
    return (
      'names several hosts, or chooses among them: name one host, without target_session_attrs, such as a proxy or ' +
      'the read-write Service of the cluster, which leads to the primary'
    );
  if (!schemes.some((scheme) => text.startsWith(scheme)) || !URL.canParse(text))
    return 'is not a URL that begins with postgres:// or postgresql://';
  return null;
}

const databasePoolers = ['none', 'transaction', 'transaction-prepared'] as const;

/** For processes with a database; spread into their own tables. */
export const poolerSettings = {
  DATABASE_POOLER: oneOf(databasePoolers, {
    meaning:
      'What DATABASE_URL and CT_DATABASE_URL lead to: PostgreSQL itself; a pooler that gives each transaction another session, such as PgBouncer with pool_mode=transaction; or one that also keeps prepared statements (PgBouncer 1.21 or newer, max_prepared_statements). With a pooler, roles need the settings that migrate sets',
    default: 'none',
  }),
};
