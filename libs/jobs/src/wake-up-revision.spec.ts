import { causeOfRow, wakeUpRevision } from './wake-up-revision';

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

describe('causeOfRow', () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

  it('continues the trace of a row for ten minutes, and then links to it', () => {
    expect(causeOfRow({ traceparent, ageS: 599 })).toEqual({ cause: { traceparent, as: 'parent' } });
    expect(causeOfRow({ traceparent, ageS: 600 })).toEqual({ cause: { traceparent, as: 'link' } });
  });

  it('is nothing without a traceparent', () => {
    for (const row of [{}, { traceparent: null, ageS: 1 }]) expect(causeOfRow(row)).toEqual({});
  });
});
