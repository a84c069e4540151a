import type { Lookup } from '@certwright/ct-index';
import { LookupBatches } from './lookup-batches';

/** Each row of the answer is what the statement was given. */
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
/** Until everything that could go on has. */
const settle = async () => await new Promise((resolve) => setImmediate(resolve));

it('asks at once while few ask, and together what waits meanwhile, each with its own answer', async () => {
  const batches = opened();
  const answers = [1, 2, 3].map(async (question) => await batches.look([question], soon));
  expect(asked.map(({ questions }) => questions)).toEqual([[1]]);
  asked[0]?.answer(['first']);
  await settle();
  expect(asked[1]?.questions).toEqual([2, 3]);
  asked[1]?.answer(['second', 'third']);
  expect(await Promise.all(answers)).toEqual([['first'], ['second'], ['third']]);
});

it('keeps questions of one request together, in their order', async () => {
  const batches = opened();
  const answers = [[0], [1, 2, 3], [], [4]].map(async (questions) => await batches.look(questions, soon));
  asked[0]?.answer([0]);
  await settle();
  expect(asked[1]?.questions).toEqual([1, 2, 3, 4]);
  asked[1]?.answer(['a', 'b', 'c', 'd']);
  expect(await Promise.all(answers)).toEqual([[0], ['a', 'b', 'c'], [], ['d']]);
});

it('sends no more at once than it may, and no longer ones', async () => {
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

it('uses another connection once a statement takes long', async () => {
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

it('waits as long as the one with the most time has, and does not ask for those whose time is up', async () => {
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

it('gives nobody what may be the answer of somebody else', async () => {
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

it('asks each alone where together they took too long', async () => {
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

it('asks each alone, too, where one may take the time of the others', async () => {
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
  // What the two together come to is nothing to either any more.
  asked[1]?.fail(new Error('away'));
  await settle();
  asked[3]?.answer(['third']);
  expect(await answers[2]).toEqual(['third']);
});

it('does not ask alone, while it waits for a connection, for what was answered together', async () => {
  const connections: (() => void)[] = [];
  const sent: unknown[][] = [];
  const batches = new LookupBatches(
    echo,
    async (_text, questions, timeoutMs) => {
      // Together two are asked at once, alone they wait for a connection.
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

it('uses what connections it may for those who wait behind one that takes long', async () => {
  const batches = opened(3, 20);
  for (let nth = 0; nth < 40; nth += 1) void batches.look([nth], soon);
  jest.advanceTimersByTime(200);
  await settle();
  expect(asked.map(({ questions }) => questions.length)).toEqual([1, 16, 16]);
});

it('tells all of an outage, and goes on', async () => {
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
