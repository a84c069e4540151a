import type { Lookup } from '@certwright/ct-index';
import { LookupBatches } from './lookup-batches';

/** Each row of the result is the statement's parameter. */
const echo: Lookup<unknown, unknown> = {
  of: async (reader, inputs) => await reader.query<unknown[]>('echo', [...inputs]),
};
const soon = () => 1_000;

interface Statement {
  readonly inputs: unknown[];
  readonly timeoutMs: number;
  readonly resolve: (rows: unknown[]) => void;
  readonly fail: (error: unknown) => void;
}

let statements: Statement[];
beforeEach(() => {
  statements = [];
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
});
afterEach(() => void jest.useRealTimers());
const opened = (maxRunning = 1, batchDelayMs = 0) =>
  new LookupBatches(
    echo,
    async (_text, inputs, timeoutMs) =>
      await new Promise((resolve, fail) =>
        statements.push({ inputs, timeoutMs: timeoutMs(), resolve, fail }),
      ),
    { maxRunning, batchDelayMs },
  );
/** Waits until no task can continue. */
const settle = async () => await new Promise((resolve) => setImmediate(resolve));
/** The first lookup is sent; the others wait for it. */
async function oneAndOthers<Input>(
  inputs: readonly Input[],
  look: (input: Input) => Promise<readonly unknown[]>,
) {
  const [first, ...others] = inputs.map((input) => async () => await look(input));
  const sent = first?.();
  await settle();
  return [sent, ...others.map(async (other) => await other())];
}

it('sends lookups of the same tick together', async () => {
  const batches = opened();
  const lookups = [1, 2, 3].map(async (input) => await batches.look([input], soon));
  await settle();
  expect(statements.map(({ inputs }) => inputs)).toEqual([[1, 2, 3]]);
  statements[0]?.resolve(['first', 'second', 'third']);
  expect(await Promise.all(lookups)).toEqual([['first'], ['second'], ['third']]);
});

it('runs lookups immediately under low load, and batches waiting ones, each with its own result', async () => {
  const batches = opened();
  const lookups = await oneAndOthers([1, 2, 3], async (input) => await batches.look([input], soon));
  expect(statements.map(({ inputs }) => inputs)).toEqual([[1]]);
  statements[0]?.resolve(['first']);
  await settle();
  expect(statements[1]?.inputs).toEqual([2, 3]);
  statements[1]?.resolve(['second', 'third']);
  expect(await Promise.all(lookups)).toEqual([['first'], ['second'], ['third']]);
});

it('keeps lookups of one request together, in order', async () => {
  const batches = opened();
  const lookups = await oneAndOthers(
    [[0], [1, 2, 3], [], [4]],
    async (inputs) => await batches.look(inputs, soon),
  );
  statements[0]?.resolve([0]);
  await settle();
  expect(statements[1]?.inputs).toEqual([1, 2, 3, 4]);
  statements[1]?.resolve(['a', 'b', 'c', 'd']);
  expect(await Promise.all(lookups)).toEqual([[0], ['a', 'b', 'c'], [], ['d']]);
});

it('limits the number and size of concurrent statements', async () => {
  const batches = opened(2);
  const lookups = Array.from({ length: 50 }, async (_, nth) => await batches.look([nth], soon));
  await settle();
  expect(statements).toHaveLength(2);
  // It grows meanwhile.
  for (const { inputs, resolve } of statements) {
    resolve(inputs);
    await settle();
  }
  expect(await Promise.all(lookups)).toEqual(Array.from({ length: 50 }, (_, nth) => [nth]));
  expect(statements.map(({ inputs }) => inputs.length)).toEqual([16, 16, 16, 2]);
});

it('uses another connection when a statement is slow', async () => {
  const batches = opened(2, 50);
  const lookups = await oneAndOthers([1, 2, 3], async (input) => await batches.look([input], soon));
  await settle();
  expect(statements.map(({ inputs }) => inputs)).toEqual([[1]]);
  jest.advanceTimersByTime(70);
  await settle();
  expect(statements.map(({ inputs }) => inputs)).toEqual([[1], [2, 3]]);
  const later = batches.look([4], soon);
  statements[1]?.resolve(['second', 'third']);
  await settle();
  statements[0]?.resolve(['first']);
  await settle();
  expect(statements.map(({ inputs }) => inputs)).toEqual([[1], [2, 3], [4]]);
  statements[2]?.resolve(['fourth']);
  expect(await Promise.all([...lookups, later])).toEqual([['first'], ['second'], ['third'], ['fourth']]);
});

it('waits as long as the longest time limit allows, and drops expired lookups', async () => {
  const batches = opened();
  const lookups = Promise.allSettled(
    await oneAndOthers([5, 300, -1, 20], async (leftMs) => await batches.look([leftMs], () => leftMs)),
  );
  statements[0]?.resolve(['first']);
  await settle();
  expect(statements[1]).toMatchObject({ timeoutMs: 300, inputs: [300, 20] });
  statements[1]?.resolve(['second', 'fourth']);
  expect(await lookups).toMatchObject([
    { value: ['first'] },
    { value: ['second'] },
    { reason: { code: 'timeout' } },
    { value: ['fourth'] },
  ]);
});

it('runs each lookup alone when a batch returns the wrong number of results', async () => {
  const batches = opened();
  const lookups = Promise.allSettled(
    await oneAndOthers([1, 2, 3], async (input) => await batches.look([input], soon)),
  );
  statements[0]?.resolve(['first']);
  await settle();
  statements[1]?.resolve(['of one of them']);
  await settle();
  expect(statements.slice(2).map(({ inputs }) => inputs)).toEqual([[2], [3]]);
  statements[2]?.resolve(['second']);
  statements[3]?.resolve([]);
  const results = await lookups;
  expect(results).toMatchObject([{ value: ['first'] }, { value: ['second'] }, { status: 'rejected' }]);
});

it('runs each lookup alone when the batch is too slow', async () => {
  const batches = opened();
  const lookups = await oneAndOthers([1, 2, 3], async (input) => await batches.look([input], soon));
  statements[0]?.resolve(['first']);
  await settle();
  statements[1]?.fail(Object.assign(new Error('canceling statement'), { code: '57014' }));
  await settle();
  expect(statements.slice(2).map(({ inputs }) => inputs)).toEqual([[2], [3]]);
  statements[2]?.resolve(['second']);
  statements[3]?.fail(Object.assign(new Error('alone too'), { code: '57014' }));
  const results = await Promise.allSettled(lookups);
  expect(results).toMatchObject([
    { value: ['first'] },
    { value: ['second'] },
    { reason: { message: 'alone too' } },
  ]);
  expect(statements).toHaveLength(4);
});

it('also runs each alone when one may use up the time of the others', async () => {
  const batches = opened();
  const shortly = () => 100;
  const lookups = await oneAndOthers([1, 2, 3], async (input) => await batches.look([input], shortly));
  statements[0]?.resolve(['first']);
  await settle();
  jest.advanceTimersByTime(60);
  await settle();
  expect(statements.slice(1).map(({ inputs }) => inputs)).toEqual([[2, 3], [2], [3]]);
  statements[2]?.resolve(['second']);
  expect(await lookups[1]).toEqual(['second']);
  // The result of the batch no longer matters to either.
  statements[1]?.fail(new Error('unavailable'));
  await settle();
  statements[3]?.resolve(['third']);
  expect(await lookups[2]).toEqual(['third']);
});

it('does not run a settled lookup again while it waits for a connection', async () => {
  const connections: (() => void)[] = [];
  const sent: unknown[][] = [];
  const batches = new LookupBatches(
    echo,
    async (_text, inputs, timeoutMs) => {
      // Two are run at once in a batch; alone they wait for a connection.
      if (sent.length > 1) await new Promise<void>((resolve) => connections.push(resolve));
      if (timeoutMs() <= 0) throw new Error('too late');
      sent.push(inputs);
      return await new Promise((resolve) => setTimeout(resolve, 50, inputs));
    },
    { maxRunning: 1 },
  );
  const lookups = await oneAndOthers([1, 2, 3], async (input) => await batches.look([input], () => 100));
  for (let ms = 0; ms < 200; ms += 10) {
    jest.advanceTimersByTime(10);
    await settle();
  }
  expect(connections).toHaveLength(2);
  for (const free of connections) free();
  await settle();
  expect(await Promise.all(lookups)).toEqual([[1], [2], [3]]);
  expect(sent).toEqual([[1], [2, 3]]);
});

it('uses all allowed connections for lookups behind a slow one', async () => {
  const batches = opened(3, 20);
  for (let nth = 0; nth < 50; nth += 1) void batches.look([nth], soon);
  await settle();
  jest.advanceTimersByTime(200);
  await settle();
  expect(statements.map(({ inputs }) => inputs.length)).toEqual([16, 16, 16]);
});

it('reports an outage to lookups that it has delayed until they expired', async () => {
  const batches = opened();
  const lookups = Promise.allSettled(
    await oneAndOthers([5, -1], async (leftMs) => await batches.look([leftMs], () => leftMs)),
  );
  const unavailable = Object.assign(new Error('unavailable'), { code: 'ECONNRESET' });
  statements[0]?.fail(unavailable);
  expect(await lookups).toMatchObject([{ reason: unavailable }, { reason: { code: 'service_outage' } }]);
  const later = Promise.allSettled(
    await oneAndOthers([5, -1], async (leftMs) => await batches.look([leftMs], () => leftMs)),
  );
  statements[1]?.resolve(['first']);
  expect(await later).toMatchObject([{ value: ['first'] }, { reason: { code: 'timeout' } }]);
});

it('reports an outage to all, and continues', async () => {
  const batches = opened();
  const lookups = Promise.allSettled(
    await oneAndOthers([1, 2, 3], async (input) => await batches.look([input], soon)),
  );
  const unavailable = Object.assign(new Error('unavailable'), { code: 'ECONNRESET' });
  statements[0]?.fail(unavailable);
  await settle();
  statements[1]?.fail(unavailable);
  const results = await lookups;
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  const later = batches.look([4], soon);
  await settle();
  statements[2]?.resolve(['fourth']);
  expect(await later).toEqual(['fourth']);
});
