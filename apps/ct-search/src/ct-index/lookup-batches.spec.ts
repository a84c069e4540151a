import type { Lookup } from '@certwright/ct-index';
import { LookupBatches } from './lookup-batches';

/** Each row of the result is the statement's parameter. */
const echo: Lookup<unknown, unknown> = {
  of: async (reader, questions) => await reader.query<unknown[]>('echo', [...questions]),
};
const soon = () => 1_000;

interface Asked {
  readonly questions: unknown[];
  readonly timeoutMs: number;
  readonly answer: (rows: unknown[]) => void;
  readonly fail: (error: unknown) => void;
}

let asked: Asked[];
beforeEach(() => {
  asked = [];
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
});
afterEach(() => void jest.useRealTimers());
const opened = (mostUnderWay = 1, patienceMs = 0) =>
  new LookupBatches(
    echo,
    async (_text, questions, timeoutMs) =>
      await new Promise((answer, fail) => asked.push({ questions, timeoutMs: timeoutMs(), answer, fail })),
    { mostUnderWay, patienceMs },
  );
/** Waits until no task can continue. */
const settle = async () => await new Promise((resolve) => setImmediate(resolve));

it('runs lookups immediately under low load, and batches waiting ones, each with its own result', async () => {
  const batches = opened();
  const answers = [1, 2, 3].map(async (question) => await batches.look([question], soon));
  expect(asked.map(({ questions }) => questions)).toEqual([[1]]);
  asked[0]?.answer(['first']);
  await settle();
  expect(asked[1]?.questions).toEqual([2, 3]);
  asked[1]?.answer(['second', 'third']);
  expect(await Promise.all(answers)).toEqual([['first'], ['second'], ['third']]);
});

it('keeps lookups of one request together, in order', async () => {
  const batches = opened();
  const answers = [[0], [1, 2, 3], [], [4]].map(async (questions) => await batches.look(questions, soon));
  asked[0]?.answer([0]);
  await settle();
  expect(asked[1]?.questions).toEqual([1, 2, 3, 4]);
  asked[1]?.answer(['a', 'b', 'c', 'd']);
  expect(await Promise.all(answers)).toEqual([[0], ['a', 'b', 'c'], [], ['d']]);
});

it('limits the number and size of concurrent statements', async () => {
  const batches = opened(2);
  const answers = Array.from({ length: 30 }, async (_, nth) => await batches.look([nth], soon));
  expect(asked).toHaveLength(2);
  // It grows meanwhile.
  for (const { questions, answer } of asked) {
    answer(questions);
    await settle();
  }
  expect(await Promise.all(answers)).toEqual(Array.from({ length: 30 }, (_, nth) => [nth]));
  expect(asked.map(({ questions }) => questions.length)).toEqual([1, 1, 16, 12]);
});

it('uses another connection when a statement is slow', async () => {
  const batches = opened(2, 50);
  const answers = [1, 2, 3].map(async (question) => await batches.look([question], soon));
  await settle();
  expect(asked.map(({ questions }) => questions)).toEqual([[1]]);
  jest.advanceTimersByTime(70);
  await settle();
  expect(asked.map(({ questions }) => questions)).toEqual([[1], [2, 3]]);
  const later = batches.look([4], soon);
  asked[1]?.answer(['second', 'third']);
  await settle();
  asked[0]?.answer(['first']);
  await settle();
  expect(asked.map(({ questions }) => questions)).toEqual([[1], [2, 3], [4]]);
  asked[2]?.answer(['fourth']);
  expect(await Promise.all([...answers, later])).toEqual([['first'], ['second'], ['third'], ['fourth']]);
});

it('waits as long as the longest time limit allows, and drops expired lookups', async () => {
  const batches = opened();
  const answers = Promise.allSettled(
    [5, 300, -1, 20].map(async (leftMs) => await batches.look([leftMs], () => leftMs)),
  );
  asked[0]?.answer(['first']);
  await settle();
  expect(asked[1]).toMatchObject({ timeoutMs: 300, questions: [300, 20] });
  asked[1]?.answer(['second', 'fourth']);
  expect(await answers).toMatchObject([
    { value: ['first'] },
    { value: ['second'] },
    { reason: { code: 'timeout' } },
    { value: ['fourth'] },
  ]);
});

it('runs each lookup alone when a batch returns the wrong number of results', async () => {
  const batches = opened();
  const answers = Promise.allSettled([1, 2, 3].map(async (question) => await batches.look([question], soon)));
  asked[0]?.answer(['first']);
  await settle();
  asked[1]?.answer(['of one of them']);
  await settle();
  expect(asked.slice(2).map(({ questions }) => questions)).toEqual([[2], [3]]);
  asked[2]?.answer(['second']);
  asked[3]?.answer([]);
  const results = await answers;
  expect(results).toMatchObject([{ value: ['first'] }, { value: ['second'] }, { status: 'rejected' }]);
});

it('runs each lookup alone when the batch is too slow', async () => {
  const batches = opened();
  const answers = [1, 2, 3].map(async (question) => await batches.look([question], soon));
  asked[0]?.answer(['first']);
  await settle();
  asked[1]?.fail(Object.assign(new Error('canceling statement'), { code: '57014' }));
  await settle();
  expect(asked.slice(2).map(({ questions }) => questions)).toEqual([[2], [3]]);
  asked[2]?.answer(['second']);
  asked[3]?.fail(Object.assign(new Error('alone too'), { code: '57014' }));
  const results = await Promise.allSettled(answers);
  expect(results).toMatchObject([
    { value: ['first'] },
    { value: ['second'] },
    { reason: { message: 'alone too' } },
  ]);
  expect(asked).toHaveLength(4);
});

it('also runs each alone when one may use up the time of the others', async () => {
  const batches = opened();
  const shortly = () => 100;
  const answers = [1, 2, 3].map(async (question) => await batches.look([question], shortly));
  asked[0]?.answer(['first']);
  await settle();
  jest.advanceTimersByTime(60);
  await settle();
  expect(asked.slice(1).map(({ questions }) => questions)).toEqual([[2, 3], [2], [3]]);
  asked[2]?.answer(['second']);
  expect(await answers[1]).toEqual(['second']);
  // The result of the batch no longer matters to either.
  asked[1]?.fail(new Error('away'));
  await settle();
  asked[3]?.answer(['third']);
  expect(await answers[2]).toEqual(['third']);
});

it('does not run a settled lookup again while it waits for a connection', async () => {
  const connections: (() => void)[] = [];
  const sent: unknown[][] = [];
  const batches = new LookupBatches(
    echo,
    async (_text, questions, timeoutMs) => {
      // Two are run at once in a batch; alone they wait for a connection.
      if (sent.length > 1) await new Promise<void>((resolve) => connections.push(resolve));
      if (timeoutMs() <= 0) throw new Error('too late');
      sent.push(questions);
      return await new Promise((answer) => setTimeout(answer, 50, questions));
    },
    { mostUnderWay: 1 },
  );
  const answers = [1, 2, 3].map(async (question) => await batches.look([question], () => 100));
  for (let ms = 0; ms < 200; ms += 10) {
    jest.advanceTimersByTime(10);
    await settle();
  }
  expect(connections).toHaveLength(2);
  for (const free of connections) free();
  await settle();
  expect(await Promise.all(answers)).toEqual([[1], [2], [3]]);
  expect(sent).toEqual([[1], [2, 3]]);
});

it('uses all allowed connections for lookups behind a slow one', async () => {
  const batches = opened(3, 20);
  for (let nth = 0; nth < 40; nth += 1) void batches.look([nth], soon);
  jest.advanceTimersByTime(200);
  await settle();
  expect(asked.map(({ questions }) => questions.length)).toEqual([1, 16, 16]);
});

it('reports an outage to all, and continues', async () => {
  const batches = opened();
  const answers = Promise.allSettled([1, 2, 3].map(async (question) => await batches.look([question], soon)));
  const away = Object.assign(new Error('away'), { code: 'ECONNRESET' });
  asked[0]?.fail(away);
  await settle();
  asked[1]?.fail(away);
  const results = await answers;
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  const later = batches.look([4], soon);
  asked[2]?.answer(['fourth']);
  expect(await later).toEqual(['fourth']);
});
