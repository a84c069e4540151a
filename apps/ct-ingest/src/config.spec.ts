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
  [
    'more threads than any use',
    { PACKING_THREADS: '17' },
    /PACKING_THREADS is not a whole number from 0 to 16/,
  ],
])('refuses %s', (_, env: Record<string, string>, said) => expect(() => read(env)).toThrow(said));
