import { deliverWebhook, type Job } from '@certwright/jobs';
import { sweepOnce } from './sweep';

describe('the sweep', () => {
  it('nudges every row that is due, with an id per look', async () => {
    const sent: Job[] = [];
    const queues = { addAll: async (jobs: readonly Job[]) => await Promise.resolve(void sent.push(...jobs)) };
    const due = async () => await Promise.resolve([{ id: 'msg_1', leaseToken: '3', overdueS: 0 }]);
    await sweepOnce(due, deliverWebhook, queues);
    expect(sent).toEqual([deliverWebhook('msg_1', '3')]);
  });
});
