import { deliverWebhook, type Job } from '@certwright/jobs';
import { nudgeRevision, sweepOnce } from './sweep';

describe('the sweep', () => {
  it('nudges every row that is due, with an id per look', async () => {
    const sent: Job[] = [];
    const queues = { addAll: async (jobs: readonly Job[]) => await Promise.resolve(void sent.push(...jobs)) };
    const due = async () => await Promise.resolve([{ id: 'msg_1', leaseToken: '3', overdueS: 0 }]);
    await sweepOnce(due, deliverWebhook, queues);
    expect(sent).toEqual([deliverWebhook('msg_1', '3')]);
  });

  it('changes the id every 10 s, so that a job lost in Redis blocks nothing for longer', () => {
    expect(nudgeRevision({ id: '1', leaseToken: '3', overdueS: 9 })).toBe('3');
    expect(nudgeRevision({ id: '1', leaseToken: '3', overdueS: 10 })).toBe('3-1');
    expect(nudgeRevision({ id: '1', leaseToken: '3', overdueS: 25 })).toBe('3-2');
  });
});
