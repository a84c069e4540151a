import { inOrderOf, SharedReads } from './shared-reads';
import { currentDatabaseTime, withinDatabaseTime } from './database-time';

/** Statements that the test answers. */
class Statements {
  readonly begun: { readonly keys: readonly string[]; readonly end: () => void }[] = [];
  readonly reads = new SharedReads<string, string>(
    (keys) =>
      new Promise((resolve) => {
        this.begun.push({ keys, end: () => resolve(keys.map((key) => key.toUpperCase())) });
      }),
  );

  get keys(): readonly (readonly string[])[] {
    return this.begun.map(({ keys }) => keys);
  }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

it('reads for all requests of one turn with one statement, and each gets its own', async () => {
  const statements = new Statements();
  const [one, two] = [statements.reads.read('a'), statements.reads.read('b')];
  await turn();
  expect(statements.keys).toEqual([['a', 'b']]);
  statements.begun[0]?.end();
  expect(await Promise.all([one, two])).toEqual(['A', 'B']);
});

it('runs one statement at a time, and then one for all that wait meanwhile', async () => {
  const statements = new Statements();
  const first = statements.reads.read('a');
  await turn();
  const others = ['b', 'c'].map((key) => statements.reads.read(key));
  statements.begun[0]?.end();
  expect(await first).toBe('A');
  await turn();
  expect(statements.keys).toEqual([['a'], ['b', 'c']]);
  statements.begun[1]?.end();
  expect(await Promise.all(others)).toEqual(['B', 'C']);
});

it('does not wait for a statement that takes long', async () => {
  const statements = new Statements();
  const slow = statements.reads.read('a');
  await turn();
  const fast = statements.reads.read('b');
  while (statements.begun.length < 2) await turn();
  statements.begun[1]?.end();
  expect(await fast).toBe('B');
  statements.begun[0]?.end();
  expect(await slow).toBe('A');
});

it('reports an error only to the request whose read it is', async () => {
  const reads = new SharedReads<string, string>((keys) =>
    keys.includes('bad') ? Promise.reject(new Error('bad')) : Promise.resolve(keys),
  );
  const results = await Promise.allSettled(['a', 'bad', 'b'].map((key) => reads.read(key)));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

it('does not repeat a statement after an outage', async () => {
  let statements = 0;
  const reads = new SharedReads<string, string>(() => {
    statements += 1;
    return Promise.reject(new Error('Connection terminated unexpectedly'));
  });
  const results = await Promise.allSettled([reads.read('a'), reads.read('b')]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(statements).toBe(1);
});

it('fails a request whose database time is over, and not those that it waited with', async () => {
  const statements = new Statements();
  const short = withinDatabaseTime(1, () => statements.reads.read('a'));
  const long = withinDatabaseTime(60_000, () => statements.reads.read('b'));
  await expect(short).rejects.toThrow('timeout exceeded');
  statements.begun[0]?.end();
  expect(await long).toBe('B');
});

it('limits a statement to the time of the request that may wait longest, if each has a limit', async () => {
  const limits: (number | null)[] = [];
  const reads = new SharedReads<string, string>((keys) => {
    limits.push(currentDatabaseTime()?.leftMs ?? null);
    return Promise.resolve(keys);
  });
  const limited = [1_000, 60_000].map((ms) => withinDatabaseTime(ms, () => reads.read('a')));
  await Promise.all(limited);
  await Promise.all([reads.read('a'), withinDatabaseTime(1_000, () => reads.read('b'))]);
  expect(limits).toEqual([expect.closeTo(60_000, -3), null]);
});

it('puts rows into the order of their keys', () => {
  const rows = [
    { nth: 3, name: 'c' },
    { nth: 1, name: 'a' },
  ];
  expect(inOrderOf(['a', 'b', 'c'], rows)).toEqual([{ name: 'a' }, null, { name: 'c' }]);
});
