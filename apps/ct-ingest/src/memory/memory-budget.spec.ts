import { MemoryBudget, type Reservation } from './memory-budget';

const never = new AbortController().signal;

it('grants free memory immediately, and the rest in the order of the requests', async () => {
  const budget = new MemoryBudget(100);
  const first = await budget.reserve(60, never);
  const granted: string[] = [];
  const reserve = async (name: string, bytes: number): Promise<Reservation> => {
    const reservation = await budget.reserve(bytes, never);
    granted.push(name);
    return reservation;
  };
  const large = reserve('large', 80);
  // It would fit, but the large one came first, and might otherwise wait forever.
  const small = reserve('small', 30);
  await Promise.resolve();
  expect(granted).toEqual([]);
  first.shrinkTo(20);
  (await large).release();
  expect(granted).toEqual(['large']);
  await small;
  expect(granted).toEqual(['large', 'small']);
});

it('releases each reservation once', async () => {
  const budget = new MemoryBudget(100);
  const first = await budget.reserve(100, never);
  first.release();
  first.release();
  first.shrinkTo(50);
  expect(first.bytes).toBe(0);
  await budget.reserve(100, never);
  const late = new AbortController();
  const waiting = budget.reserve(1, late.signal);
  late.abort(new Error('late'));
  await expect(waiting).rejects.toThrow('late');
});

it('removes a cancelled request, so that it blocks no others', async () => {
  const budget = new MemoryBudget(100);
  await budget.reserve(50, never);
  const impatient = new AbortController();
  const large = budget.reserve(90, impatient.signal);
  const small = budget.reserve(50, never);
  impatient.abort(new Error('no more'));
  await expect(large).rejects.toThrow('no more');
  expect((await small).bytes).toBe(50);
});

it('limits a request to the whole budget', async () => {
  expect((await new MemoryBudget(100).reserve(1_000, never)).bytes).toBe(100);
});
