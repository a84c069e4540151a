import { FairQueue } from './fair-queue';

describe('a fair queue', () => {
  it('lets accounts take turns, and the ids of an account too', () => {
    const queue = new FairQueue();
    for (const id of ['a1', 'a2', 'a3', 'a1']) queue.add('a', id);
    queue.add('b', 'b1');
    const taken = [queue.next(), queue.next(), queue.next()];
    queue.add('b', 'b1');
    queue.add('a', 'a1');
    expect([...taken, queue.next(), queue.next(), queue.next(), queue.next()]).toEqual([
      'a1',
      'b1',
      'a2',
      'a3',
      'b1',
      'a1',
      undefined,
    ]);
  });
});
