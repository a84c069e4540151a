import { readArguments } from './arguments';

const defaults = {
  ...{ database: null, revert: false, create: false, distribute: false },
  ...{ checkDrift: false, roles: false, help: false, waitLocksMs: 600_000 },
};

describe('arguments of migrate', () => {
  it.each([
    [[], {}],
    [['--wait-locks', '600'], {}],
    [
      ['--database', 'ct', '--distribute', '--wait-locks', '5'],
      { database: 'ct', distribute: true, waitLocksMs: 5_000 },
    ],
    [
      ['--create', '--check-drift', '--roles', '--help'],
      { create: true, checkDrift: true, roles: true, help: true },
    ],
    // Reverted a migration of core before.
    [['--revert', '--database=ct'], { revert: true, database: 'ct' }],
  ] as const)('reads %j', (args, expected) => {
    expect(readArguments(args)).toEqual({ ...defaults, ...expected });
  });

  it.each([
    [['--revert', '--databse', 'ct'], /'--databse'/],
    [['--revert', 'ct'], /'ct'/],
    [['revert'], /'revert'/],
    [['--database'], /--database/],
    [['--database', 'both'], /--database must be core or ct/],
    [['--revert=true'], /--revert/],
    [['--revert', '--distribute'], /--revert cannot be combined with --distribute/],
    [['--create', '--revert'], /--revert cannot be combined with --create/],
    [['--wait-locks', 'long'], /--wait-locks must be a whole number/],
  ] as const)('refuses %j', (args, message) => {
    expect(() => readArguments(args)).toThrow(message);
    expect(() => readArguments(args)).toThrow('npm run migrate -- --help');
  });
});
