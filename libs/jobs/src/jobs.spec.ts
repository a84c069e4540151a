import { advanceIssuance, queueNames, queueOf } from './index';

describe('jobs', () => {
  it('every job has a queue, and every queue a job', () => {
    expect(new Set(Object.values(queueOf))).toEqual(new Set(queueNames));
  });

  it('ids are <job>-<row id>-<revision>, without the colon that Redis keys are made of', () => {
    const job = advanceIssuance('42', '7');
    expect(job.id).toBe('advance-issuance-42-7');
    expect(job.id).not.toContain(':');
    expect(job.payload).toEqual({ issuanceId: '42' });
  });
});
