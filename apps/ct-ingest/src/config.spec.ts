import { config } from './config';

const before = process.env;
afterEach(() => void (process.env = before));

function read(env: Record<string, string>) {
  process.env = { CT_DATABASE_URL: 'postgres://localhost/ct', ...env };
  return config();
}

it('requires only a database', () => {
  const { START, REQUESTS_PER_SECOND, PACKING_THREADS } = read({});
  const log = { description: 'any', url: 'https://log.example/' };
  expect([START.of(log), REQUESTS_PER_SECOND.of(log)]).toEqual([{ at: 'beginning' }, 5]);
  expect([1, 2]).toContain(PACKING_THREADS);
});

it.each([
  ['a start that is none', { START: 'yesterday' }, /START has an entry that is not/],
  ['no rate for all logs', { REQUESTS_PER_SECOND: 'https://a.example/=3' }, /says nothing for all logs/],
  ['no logs', { LOGS: ',' }, /LOGS has no entry/],
  ['a log list by FTP', { LOG_LIST: 'ftp://lists.example/' }, /LOG_LIST is neither a file nor a URL/],
  ['a log list at no port', { LOG_LIST: 'https://lists.example:70000/' }, /LOG_LIST is neither/],
  [
    'more threads than any use',
    { PACKING_THREADS: '17' },
    /PACKING_THREADS is not a whole number from 0 to 16/,
  ],
])('refuses %s', (_, env: Record<string, string>, said) => expect(() => read(env)).toThrow(said));
