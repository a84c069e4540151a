import type { ApprovalWay, NameApproval } from '@certwright/issuance';
import { freshlyApproved, stillApproved } from './approval-age';

const now = new Date('2026-11-20T12:00:00Z');
const dayMs = 86_400_000;
const byEmail: ApprovalWay = { method: 'email', approverEmail: 'admin@example.com', recordAt: null };
const byDns: ApprovalWay = { method: 'dns', approverEmail: null, recordAt: 'example.com' };

const approved: NameApproval = {
  dnsName: 'www.example.com',
  status: 'approved',
  method: 'email',
  problem: null,
  checkedAt: '2026-11-19T11:59:59Z',
};
const pending = (approval: NameApproval): NameApproval => ({ ...approval, status: 'pending', method: null });

describe('stillApproved', () => {
  it('drops an approval that is older than the reuse period', () => {
    expect(stillApproved([approved], now, 2 * dayMs)).toEqual([approved]);
    expect(stillApproved([approved], now, dayMs)).toEqual([pending(approved)]);
  });

  it('keeps the method that counts', () => {
    const said = { ...approved, way: byEmail };
    expect(stillApproved([said], now, dayMs)).toEqual([{ ...pending(approved), way: byEmail }]);
  });

  it('rejects an approval by another method than the one that counts', () => {
    const other = { ...approved, way: byDns };
    expect(stillApproved([other], now, 2 * dayMs)).toEqual([{ ...pending(approved), way: byDns }]);
    expect(stillApproved([{ ...other, way: null }], now, 2 * dayMs)).toEqual([{ ...approved, way: null }]);
  });
});

describe('freshlyApproved', () => {
  it('checks external state again by the method that counts, and keeps a person’s approval', () => {
    const standing: NameApproval = { ...approved, method: 'dns', way: byDns };
    expect(freshlyApproved([standing, { ...approved, way: byEmail }], now)).toEqual([
      { ...pending(approved), way: byDns },
      { ...approved, way: byEmail },
    ]);
    const fresh = { ...standing, checkedAt: '2026-11-20T11:59:30Z' };
    expect(freshlyApproved([fresh], now)).toEqual([fresh]);
  });
});
