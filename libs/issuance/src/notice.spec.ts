import { noticeDecision, type NoticeInputs, noticeThresholdsDays } from './notice';

const dayMs = 86_400_000;
const notBefore = new Date('2026-11-20T00:00:00Z');
const certificate = (lifetimeDays: number) => ({
  notBefore,
  notAfter: new Date(notBefore.getTime() + lifetimeDays * dayMs),
  revokedAt: null,
});
const decide = (leftDays: number, change: Partial<NoticeInputs> = {}, lifetimeDays = 90) => {
  const inputs = { certificate: certificate(lifetimeDays), muted: false, noticed: [], ...change };
  return noticeDecision(inputs, new Date(inputs.certificate.notAfter.getTime() - leftDays * dayMs));
};

describe('noticeDecision', () => {
  it('notifies 30, 14, 7, 3 and 1 days before the end, once each', () => {
    const mailed: number[] = [];
    const noticed: number[] = [];
    for (let left = 90; left >= 0; left -= 0.25) {
      const { mail, mark } = decide(left, { noticed: [...noticed] });
      if (mail !== null) {
        mailed.push(mail);
        expect(left).toBe(mail);
      }
      noticed.push(...mark);
    }
    expect(mailed).toEqual([30, 14, 7, 3, 1]);
    expect(noticed).toEqual([...noticeThresholdsDays]);
  });

  it('notifies only for the nearest threshold when several have passed', () => {
    expect(decide(5)).toEqual({ mail: 7, mark: [7, 14, 30] });
    expect(decide(5, { noticed: [30] })).toEqual({ mail: 7, mark: [7, 14] });
    expect(decide(5, { noticed: [30, 14, 7] })).toEqual({ mail: null, mark: [] });
  });

  it('does not notify about an expired or revoked certificate', () => {
    expect(decide(-0.001)).toEqual({ mail: null, mark: [] });
    expect(decide(5, { certificate: { ...certificate(90), revokedAt: notBefore } })).toEqual({
      mail: null,
      mark: [],
    });
  });

  it('skips thresholds that are as long as the lifetime, or longer', () => {
    expect(decide(6, {}, 7)).toEqual({ mail: null, mark: [] });
    expect(decide(3, {}, 7)).toEqual({ mail: 3, mark: [3] });
  });

  it('does not notify about a muted plan, nor about thresholds that passed before it was unmuted', () => {
    const muted = decide(20, { muted: true });
    expect(muted).toEqual({ mail: null, mark: [30] });
    expect(decide(19, { noticed: muted.mark })).toEqual({ mail: null, mark: [] });
  });
});
