import { wakeUpRevision } from './wake-up-revision';

describe('wakeUpRevision', () => {
  it('is the lease token at first, so that wake-ups of one round are one job', () => {
    expect(wakeUpRevision({ leaseToken: '3', overdueS: 0 })).toBe('3');
    expect(wakeUpRevision({ leaseToken: '3', overdueS: 9 })).toBe('3');
  });

  it('changes every 10 s, so that a job lost in Redis blocks nothing for longer', () => {
    expect(wakeUpRevision({ leaseToken: '3', overdueS: 10 })).toBe('3-1');
    expect(wakeUpRevision({ leaseToken: '3', overdueS: 25 })).toBe('3-2');
  });
});
