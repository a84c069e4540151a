import { nudgeRevision } from './nudge-revision';

describe('nudgeRevision', () => {
  it('is the lease token at first, so that nudges of one look are one job', () => {
    expect(nudgeRevision({ leaseToken: '3', overdueS: 0 })).toBe('3');
    expect(nudgeRevision({ leaseToken: '3', overdueS: 9 })).toBe('3');
  });

  it('changes every 10 s, so that a job lost in Redis blocks nothing for longer', () => {
    expect(nudgeRevision({ leaseToken: '3', overdueS: 10 })).toBe('3-1');
    expect(nudgeRevision({ leaseToken: '3', overdueS: 25 })).toBe('3-2');
  });
});
