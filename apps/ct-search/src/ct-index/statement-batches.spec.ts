import { StatementBatches } from './statement-batches';

const statement = { one: 'one', many: 'many' };
const soon = () => 1_000;

interface Asked {
  readonly text: string;
  readonly values: unknown[];
  readonly timeoutMs: number;
  readonly answer: (rows: unknown[]) => void;
  readonly fail: (error: unknown) => void;
}

let asked: Asked[];
beforeEach(() => (asked = []));
const opened = (mostUnderWay = 1) =>
  new StatementBatches(
    statement,
    async (text, values, timeoutMs) =>
      await new Promise((answer, fail) => asked.push({ text, values, timeoutMs: timeoutMs(), answer, fail })),
    mostUnderWay,
  );
/** Until everything that could go on has. */
const settle = async () => await new Promise((resolve) => setImmediate(resolve));

it('asks at once while few ask, and together what waits meanwhile, each with its own answer', async () => {
  const batches = opened();
  const answers = [1, 2, 3].map(async (id) => await batches.query([id, [id, 7], true], soon));
  expect(asked.map(({ text, values }) => [text, values])).toEqual([['one', [1, [1, 7], true]]]);
  asked[0]?.answer(['first']);
  await settle();
  expect(asked[1]).toMatchObject({
    text: 'many',
    values: [
      [2, 3],
      ['{2,7}', '{3,7}'],
      [true, true],
    ],
  });
  asked[1]?.answer(['second', 'third']);
  expect(await Promise.all(answers)).toEqual([['first'], ['second'], ['third']]);
});

it('sends no more at once than it may, and no longer ones', async () => {
  const batches = opened(2);
  const answers = Array.from({ length: 30 }, async (_, id) => await batches.query([id], soon));
  expect(asked).toHaveLength(2);
  // It grows meanwhile.
  for (const { text, values, answer } of asked) {
    answer(text === 'one' ? [values[0]] : (values[0] as number[]));
    await settle();
  }
  expect(await Promise.all(answers)).toEqual(Array.from({ length: 30 }, (_, id) => [id]));
  expect(asked.map(({ text, values }) => (text === 'one' ? 1 : (values[0] as number[]).length))).toEqual([
    1, 1, 16, 12,
  ]);
});

it('waits as long as the one with the most time has, and does not ask for those whose time is up', async () => {
  const batches = opened();
  const answers = Promise.allSettled(
    [5, 300, -1, 20].map(async (leftMs) => await batches.query([leftMs], () => leftMs)),
  );
  asked[0]?.answer(['first']);
  await settle();
  expect(asked[1]).toMatchObject({ timeoutMs: 300, values: [[300, 20]] });
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
  const answers = Promise.allSettled([1, 2, 3].map(async (id) => await batches.query([id], soon)));
  asked[0]?.answer(['first']);
  await settle();
  asked[1]?.answer(['of one of them']);
  const results = await answers;
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
});

it('asks each alone where together they took too long', async () => {
  const batches = opened();
  const answers = [1, 2, 3].map(async (id) => await batches.query([id], soon));
  asked[0]?.answer(['first']);
  await settle();
  asked[1]?.fail(Object.assign(new Error('canceling statement'), { code: '57014' }));
  await settle();
  expect(asked.slice(2).map(({ text, values }) => [text, values])).toEqual([
    ['one', [2]],
    ['one', [3]],
  ]);
  asked[2]?.answer(['second']);
  asked[3]?.fail(new Error('alone too'));
  const results = await Promise.allSettled(answers);
  expect(results).toMatchObject([
    { value: ['first'] },
    { value: ['second'] },
    { reason: { message: 'alone too' } },
  ]);
});

it('tells all of an outage, and goes on', async () => {
  const batches = opened();
  const answers = Promise.allSettled([1, 2, 3].map(async (id) => await batches.query([id], soon)));
  asked[0]?.fail(new Error('away'));
  await settle();
  asked[1]?.fail(new Error('away'));
  const results = await answers;
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  const later = batches.query([4], soon);
  asked[2]?.answer(['fourth']);
  expect(await later).toEqual(['fourth']);
});
